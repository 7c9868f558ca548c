"""``python -m egparse``, and the command ``egparse``."""

from __future__ import annotations

from egparse.cli import process


def main() -> None:
    """Run the program of this process; see ``cli.app``.

    Raises:
        SystemExit: always, with the exit code.
    """
    process.prepare()  # before the rest is imported, which takes a while
    from egparse.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
