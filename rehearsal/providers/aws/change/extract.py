"""Makes `create_only.json` from the CloudFormation schemas that the PyPI package `cfn-lint` ships.

Run `python -m rehearsal.providers.aws.change.extract` after a rule names a new schema, or
`requirements-dev.in` another cfn-lint (now 1.58.0). cfn-lint is needed for that and for the test
that compares, never for a rehearsal. The schemas are those of us-east-1; a property that is
create-only under conditions only (`conditionalCreateOnlyProperties`) is left out.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from importlib.resources import files

from rehearsal.providers.aws.change.rules import CREATE_ONLY
from rehearsal.providers.aws.change.table import RULES

_REGION = "us-east-1"
_PREFIX = "/properties/"


def content() -> str:
    """The data file as it should be. Raises KeyError for a schema that CloudFormation lacks."""
    schemas = files("cfnlint") / "data" / "schemas"
    hashes = json.loads((schemas / "providers" / f"{_REGION}.json").read_text())
    types: dict[str, list[str]] = {}
    for name in sorted({rule.schema for rule in RULES.values() if rule.schema}):
        schema = json.loads((schemas / "resources" / f"{hashes[name]}.json").read_text())
        types[name] = sorted(path.removeprefix(_PREFIX) for path in schema.get("createOnlyProperties", ()))
    data = {"source": f"cfn-lint {version('cfn-lint')}, {_REGION}", "types": types}
    return json.dumps(data, indent=1) + "\n"


if __name__ == "__main__":
    CREATE_ONLY.write_text(content())
