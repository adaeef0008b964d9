"""What a record is compared with: the seconds as they were played."""

from __future__ import annotations

import pytest

from ops.coldstart.measure.seen.clock import moment
from ops.coldstart.record import Record
from rehearsal.control_plane.client import Client
from tests.ops.coldstart.measure.played.script import OF_ENGINE, SERVES
from tests.ops.coldstart.measure.played.stage import Stage


def truth(stage: Stage, uid: str, *, node: str | None) -> dict[str, float]:
    """Seconds of each phase. `node`: the one that came for the pod."""
    created, bound = _made(stage, uid)
    done = stage.acts[uid].done
    placed = stage.seen[node] if node else created
    begun = done.get("pulling", done["restoring"])
    return {
        **({"node": placed - created} if node else {}),
        "scheduling": bound - placed,
        "container start": begun - bound,
        **({"image pull": done["pulled"] - done["pulling"]} if "pulling" in done else {}),
        "restore": done["restored"] - done["restoring"],
        **OF_ENGINE,
        "readiness": done["ready"] - done["engine"] - SERVES,
    }


def as_played(record: Record, stage: Stage, uid: str, *, node: str | None = None) -> None:
    """Assert that no phase is off by more than a second, and none is missing or too many."""
    wanted = truth(stage, uid, node=node)
    measured = {it: span.seconds for it, span in record.phases.items()}
    assert set(measured) == set(wanted)
    wrong = {it: (measured[it], wanted[it]) for it in wanted if abs(measured[it] - wanted[it]) > 1.0}
    assert not wrong, f"{wrong}, and {record.notes}"
    created, _ = _made(stage, uid)
    assert record.total == pytest.approx(stage.acts[uid].done["ready"] - created, abs=1.0)


def _made(stage: Stage, uid: str) -> tuple[float, float]:
    """When a pod was made and bound: no script has that, the API server and the scheduler do it."""
    space = f"/api/v1/namespaces/{stage.namespace}"
    with Client(stage.api) as client:
        (pod,) = (it for it in client.get(f"{space}/pods").body["items"] if it["metadata"]["uid"] == uid)
        said = client.get(f"{space}/events?fieldSelector=reason=Scheduled,involvedObject.uid={uid}").body["items"]
    return moment(pod["metadata"]["creationTimestamp"]), moment(said[0]["eventTime"])
