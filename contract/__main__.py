"""`python -m contract`: write schema and table of what `outputs.py` declares, or say which version it must be."""

import argparse
import sys

from contract import release, table
from outputs import VERSION


def main() -> int:
    """Return 0 when both files are as the declaration is, 1 when its version cannot be what it says."""
    argparse.ArgumentParser(prog="python -m contract", description=__doc__).parse_args()
    now, number, before = release.current(), release.version(VERSION), release.released()
    if problems := release.problems(now, number, before):
        print("\n  ".join(problems), file=sys.stderr)
        return 1
    schema = release.FOLDER / f"{VERSION}.json"
    page = table.document(table.FILE.read_text(encoding="utf-8"), {**before, number: now})
    for path, content in ((schema, release.text(now)), (table.FILE, page)):
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")
            print(f"written: {path.relative_to(table.FILE.parents[1])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
