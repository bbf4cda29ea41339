"""The calls that are answered here instead of by moto."""
