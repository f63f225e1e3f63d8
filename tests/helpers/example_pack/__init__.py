"""A pack of claims as somebody else would write it (docs/write_a_pack.md)."""
