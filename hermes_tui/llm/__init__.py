"""Providers: who answers, over what, at what price; and counting tokens without asking anybody."""
