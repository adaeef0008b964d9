"""A plan that `python -m rehearsal preview --json` wrote, or that of a preview now."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ops.failures import RefusedError, UnclearError, UsageError
from ops.terminal import echo
from rehearsal.engine.run import RunFailedError
from rehearsal.engine.run import UsageError as NotRehearsedError
from rehearsal.plan.plan import Message, Plan, PlannedResource
from rehearsal.preview import preview
from rehearsal.toolchain.pulumi_cli import ToolMissingError


def previewed(stack: str, secrets: Sequence[tuple[str, str]]) -> Plan:
    """Return what a preview of the stack in this folder plans, with the offline cloud.

    Args:
        stack: its name.
        secrets: keys and values of secrets that it needs.

    Raises:
        UsageError: there is no such stack, or it needs a secret.
        RefusedError: the program or the engine refuses it.
        UnclearError: there is no engine to ask.
    """
    if not Path("Pulumi.yaml").is_file():
        raise UsageError("no Pulumi.yaml here; expected the program's folder, or --preview PLAN.json")
    try:
        return preview(stack, secrets=secrets)
    except NotRehearsedError as mistake:
        raise UsageError(str(mistake)) from None
    except RunFailedError as failure:
        raise RefusedError(str(failure)) from None
    except ToolMissingError as missing:
        raise UnclearError(str(missing)) from None


def asked_secrets(pairs: Sequence[str]) -> list[tuple[str, str]]:
    """Return keys and values of `PATH=VALUE`.

    Raises:
        UsageError: it is something else; the message does not repeat it, it may be the secret alone.
    """
    split = [pair.partition("=") for pair in pairs]
    if any(not path or not equals for path, equals, _ in split):
        raise UsageError("--secret: expected PATH=VALUE")
    return [(path, value) for path, _, value in split]


def read(path: str) -> Plan:
    """Return the plan of a file.

    Raises:
        UsageError: nobody may read it, or it is no plan.
    """
    try:
        return _plan(json.loads(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"--preview {echo(path)}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        hint = "expected what `python -m rehearsal preview --json FILE` writes"
        raise UsageError(f"--preview {echo(path)}: no plan; {hint}") from None


def _plan(whole: Mapping[str, Any]) -> Plan:
    return Plan(
        project=_text(whole["project"]),
        stack=_text(whole["stack"]),
        resources=tuple(_resource(it) for it in whole["resources"]),
        outputs=dict(whole["outputs"]),
        messages=tuple(Message(**it) for it in whole["messages"]),
        seconds=whole["seconds"],
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _resource(it: Mapping[str, Any]) -> PlannedResource:
    return PlannedResource(
        urn=_text(it["urn"]),
        type=_text(it["type"]),
        name=_text(it["name"]),
        parent=None if it["parent"] is None else _text(it["parent"]),
        action=it["action"],
        changed=it["changed"],
        custom=it["custom"],
        inputs=dict(it["inputs"]),
        provider=it["provider"],
        protect=it["protect"],
        retain_on_delete=it["retainOnDelete"],
        dependencies=tuple(it["dependencies"]),
        property_dependencies={key: tuple(urns) for key, urns in it["propertyDependencies"].items()},
    )
