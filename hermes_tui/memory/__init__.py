"""Memory providers: what may be remembered of messages before they are compressed away."""
