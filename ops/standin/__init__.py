"""The stand-in mail provider: AgentMail's documented contract, with a mailbox that can be counted.

Owns: everything under ops.standin. It judges our client, so it shares no code with it.
May not: import ingest, processors or schemas; do what the provider's documents leave open, where
a client could come to depend on it.
"""
