"""The types of arrays on the host, and the state in which their arithmetic goes wrong."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

own_errors = np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
"""A decorator: NumPy's own defaults, so that a caller who lets arithmetic raise changes nothing."""
