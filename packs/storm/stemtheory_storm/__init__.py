"""STORM's recursion on one worker, line by line: a pack of claims for stemtheory."""
