"""The emulated resource types, one module each."""
