"""HTTP: what clients send, and what they get."""
