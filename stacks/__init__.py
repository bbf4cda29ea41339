"""The five stacks: tables of contents that compose constructs and pass references."""
