"""``python -m egparse``: the same as the command ``egparse``."""

from __future__ import annotations

from egparse.cli.app import main

if __name__ == "__main__":
    main()
