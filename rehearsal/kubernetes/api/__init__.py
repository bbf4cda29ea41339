"""Objects, and the rules by which they are stored and changed."""
