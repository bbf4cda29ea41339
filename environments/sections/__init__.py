"""The tables of an environment's file, one module each."""
