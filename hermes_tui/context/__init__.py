"""The heart: messages, views, regions, pruning, planning, summaries, ledger, tokens and engines.

Pure: no I/O, no clock, no randomness; what it needs from outside is passed in.
"""
