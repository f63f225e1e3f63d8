"""Commands that prove: a round by certificates, a theorem with better constants."""
