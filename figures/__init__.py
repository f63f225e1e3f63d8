"""Figures: one file per figure of the paper or of the validation."""
