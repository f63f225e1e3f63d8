"""Sweeps: a TOML file becomes cells, cells become rows of a store, rows become a table."""
