"""What every room uses: errors, arrays, backends, streams of random numbers, files."""
