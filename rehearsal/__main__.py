"""Entry point of `python -m rehearsal`."""

from rehearsal.cli import main

if __name__ == "__main__":
    main()
