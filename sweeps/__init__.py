"""Sweeps: one TOML file per sweep."""
