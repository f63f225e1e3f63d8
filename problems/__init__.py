"""Problems: one file per loss, gradient written by hand, constants and witnesses beside it."""
