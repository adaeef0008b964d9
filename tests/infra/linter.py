"""What PyPI's `parliament` finds in IAM statements.

Trust policies and the policies of resources are not linted: they have no Resource, or a Principal, and the linter takes
either for a fault.
"""

import json
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # pkg_resources says that setuptools will drop it, which is why that is pinned
    import parliament

from infra.iam import Statement


def findings(name: str, statements: Iterable[Statement]) -> set[tuple[str, str, str]]:
    """Policy, finding, action."""
    text = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
    found = parliament.analyze_policy_string(text, include_community_auditors=True)
    return {
        (name, finding.issue, action)
        for finding in found.findings
        for action in [*_actions(finding.detail), *_actions(finding.location.get("actions"))] or [str(finding.detail)]
    }


def _actions(detail: Any) -> Iterator[str]:
    """Whatever form a finding gives them in."""
    for each in detail if isinstance(detail, list) else []:
        yield each["action"] if isinstance(each, dict) else each
