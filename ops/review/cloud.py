"""`pulumi preview` over the real cloud, cut to what may leave the job: no value of a resource, no state.

`pulumi preview --json` is not used: it drops what a policy pack says (CLI 3.274.1, `backend/display/json.go`) and holds
the whole old and new state of each resource, which whoever may read the artifact could then read.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pulumi.automation import CommandError, LocalWorkspace, Stack

from ops.failures import FAILED_CHECK, OK
from rehearsal.engine.policies import asked
from rehearsal.plan.findings import violations
from rehearsal.plan.plan import Plan, Recording

_PACK = Path("policies")


def preview(stack: str, *, refresh: bool) -> dict[str, Any]:
    """Preview the stack of the current folder as Pulumi has it, and return `<stack>.aws.json`.

    Args:
        stack: its name.
        refresh: look at what stands first. Every change is then somebody else's, and a failure; no policy is run.
    """
    recording = Recording()
    packs = {} if refresh else asked(_PACK)
    said = ""
    try:
        chosen = Stack.select(stack, LocalWorkspace(work_dir=str(Path.cwd())))
        chosen.preview(on_event=recording.listen, refresh=refresh, **packs)
    except CommandError as failure:
        said = _reason(recording, failure)
    except RuntimeError as failure:
        # the CLI ended without a word of what it did
        said = f"pulumi preview: {failure}"
    plan = recording.plan("", stack, {}, 0.0, policies=bool(packs))
    return document(plan, said, refresh=refresh)


def document(plan: Plan, said: str, *, refresh: bool) -> dict[str, Any]:
    """Return what a comment needs of a plan.

    Args:
        plan: as far as it got.
        said: why it stopped; empty: it did not.
        refresh: every change is a failure.
    """
    own = [it for it in plan.resources if it.custom and not it.type.startswith("pulumi:")]
    changes = [
        {"type": it.type, "name": it.name, "action": it.action, "paths": sorted(it.changed)}
        for it in own
        if it.action != "same"
    ]
    return {
        "exitCode": FAILED_CHECK if said or (refresh and changes) else OK,
        "said": said,
        "refreshed": refresh,
        "counts": dict(Counter(it.action for it in own)),
        "changes": changes,
        "findings": None if plan.findings is None else [it.as_json() for it in plan.findings],
    }


def _reason(recording: Recording, failure: CommandError) -> str:
    if any(it.level == "mandatory" for it in recording.findings):
        return violations(recording.findings)
    errors = [it.text for it in recording.messages if it.severity == "error"]
    return "\n".join(errors) or str(failure).rpartition("\n stderr: ")[2].strip()


def shown(result: Mapping[str, Any]) -> str:
    """Return the result in a line for each change, for the log of the job."""
    lines = [f"{it['action']} {it['type']} {it['name']}" for it in result["changes"]]
    return "\n".join([*lines, *filter(None, [result["said"]])])
