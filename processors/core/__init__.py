"""The decisions: pure functions over records, rows and a given time."""
