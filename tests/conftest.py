"""Settings shared by all tests. Nothing is seeded here: each test names its own seeds."""

import matplotlib as mpl

# No test needs a display, whatever the environment of the person who runs them says.
mpl.use("Agg", force=True)
