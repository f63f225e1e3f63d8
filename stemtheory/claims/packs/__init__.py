"""Packs that come with the package, each a folder with its ``pack.toml`` and claim modules."""
