"""`ops preflight --pins`: the newest version of each add-on, to paste below `cluster.addons`."""

import json
from collections.abc import Mapping

import yaml

from infra.cluster.addons import AWS_NAMES
from ops.failures import RefusedError, UnclearError
from ops.preflight import account
from ops.preflight.asking import Asked, NoAnswer
from ops.preflight.releases import addons


def newest(asked: Asked) -> Mapping[str, str]:
    """Return the newest version of each add-on for the stack's Kubernetes minor, by the stack file's key.

    Raises:
        RefusedError: EKS has none of an add-on, or these are another account's credentials.
        UnclearError: EKS does not tell.
    """
    list(account.check(asked))
    minor, found, missing = asked.stack.settings.cluster.version, {}, []
    for key in AWS_NAMES:
        there = addons.published(asked, key)
        if isinstance(there, NoAnswer):
            raise UnclearError(f"{there.why}; {there.fix}")
        version = addons.newest(there)
        if version is None:
            missing.append(AWS_NAMES[key])
        else:
            found[addons.spelled(key)] = version
    if missing:
        raise RefusedError(f"cluster.version: EKS has no {', '.join(missing)} for Kubernetes {minor}")
    return found


def text(pins: Mapping[str, str], *, as_json: bool) -> str:
    """Return the pins as YAML to paste, or as JSON."""
    return json.dumps(pins, indent=2) if as_json else yaml.safe_dump(dict(pins), sort_keys=False).rstrip()
