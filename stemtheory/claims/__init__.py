"""The claims ledger: every analytic line of the paper as data, put to the test by five checkers."""
