"""A command line that raises what is wrong with it: the program chooses where that is said, and its exit code."""

import argparse
from typing import NoReturn


class UsageError(Exception):
    """Wrong arguments. The message is one line."""


class Parser(argparse.ArgumentParser):
    """argparse, which would end the process."""

    def error(self, message: str) -> NoReturn:
        """Raise the message."""
        raise UsageError(message)
