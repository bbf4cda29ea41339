"""Measurements: what a command takes, beside the least that the same kind of command can take."""
