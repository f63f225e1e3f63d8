"""What a sweep is: its file, its grids, its points, and the cells behind them."""
