"""``python -m stemtheory`` is the command ``stemtheory``."""

import sys

from stemtheory.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
