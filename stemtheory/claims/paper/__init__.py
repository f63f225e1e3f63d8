"""The paper's lines as claims."""
