"""A conversation at work: turns, triggers, compression in the background, splitting.

It offers coroutines and publishes events; it starts no tasks.
"""
