"""Write the lists again. Refuses, unless told otherwise, when a resource is gone and nothing has it as an alias."""

import argparse
import sys

from tests.harness import STACKS, stack_recording
from tests.stack.urns import difference, write


def main(arguments: list[str] | None = None) -> int:
    """Return 0 when the lists are written, 1 when nothing was."""
    parser = argparse.ArgumentParser(prog="python -m tests.stack.urns", description=__doc__)
    parser.add_argument("--accept-deletions", action="store_true", help="what is gone is meant to be deleted")
    options = parser.parse_args(arguments)
    differences = [difference(stack, stack_recording(stack)) for stack in STACKS]
    if any(found.gone for found in differences) and not options.accept_deletions:
        print("\n\n".join(str(found) for found in differences if found.gone), file=sys.stderr)
        return 1
    for stack in STACKS:
        write(stack, stack_recording(stack))
    return 0


if __name__ == "__main__":
    sys.exit(main())
