"""How long a cold deploy takes, and on what: from the synthesised dependencies and a table of typical durations."""
