"""How far the workers of local SGD drift apart, line by line: a pack of claims for stemtheory."""
