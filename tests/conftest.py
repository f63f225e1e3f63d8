"""Settings shared by all tests. Nothing is seeded here: each test names its own seeds."""

import os

# No test needs a display, whatever the environment of the person who runs them says; commands that
# a test starts inherit it.
os.environ["MPLBACKEND"] = "Agg"
