"""The commands that prove: certificates of a round, and the free constants of a theorem."""
