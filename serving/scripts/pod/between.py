"""A number of a command line that must lie between two others: argparse says what is wrong with which option."""

import argparse
from collections.abc import Callable
from typing import TypeVar

N = TypeVar("N", int, float)


def between(low: N, high: N) -> Callable[[str], N]:
    """Return what reads the option. It takes whole numbers where both ends are; "nan" lies nowhere."""
    kind = type(low)

    def number(text: str) -> N:
        value = kind(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is not between {low} and {high}")
        return value

    return number
