"""What people look at: figures, pages, tables."""
