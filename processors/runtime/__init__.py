"""The stage runtime: one loop, state, changelog, timers, effects, dead letters. Knows no mail."""
