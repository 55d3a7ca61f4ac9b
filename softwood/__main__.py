"""``python -m softwood`` is the command ``softwood``."""

import sys

from softwood.cli import main

if __name__ == "__main__":
    sys.exit(main())
