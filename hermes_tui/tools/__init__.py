"""Tools: what a model may call, and what answers from a transcript instead."""
