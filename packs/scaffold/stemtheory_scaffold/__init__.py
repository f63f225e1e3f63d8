"""SCAFFOLD's control variates, line by line: a pack of claims for stemtheory."""
