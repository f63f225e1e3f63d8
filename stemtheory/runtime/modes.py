"""How much is done, in words: of a sweep, a figure, a panel of the ledger."""

MODES = ("quick", "default", "full")
