"""What claims are put to: recorded runs, moments and measurements."""
