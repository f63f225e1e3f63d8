"""Where numbers are kept: one file, one writer, tables out of it."""
