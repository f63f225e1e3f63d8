"""Writes the generated pages of docs/: findings, replication, problems."""
