"""One TOML file per environment, and the model that each is validated against."""
