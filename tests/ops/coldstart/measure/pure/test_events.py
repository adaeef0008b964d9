"""What kubelet's events say of an image."""

from __future__ import annotations

import pytest

from ops.coldstart.measure.seen.clock import moment
from ops.coldstart.measure.seen.events import events, pulled, seconds

AT = "2026-11-30T10:00:{:02}Z"


def event(reason, message="", *, at=0, last=None, container="cache", **more):
    field = f"spec.initContainers{{{container}}}"
    times = {"firstTimestamp": AT.format(at), "lastTimestamp": AT.format(at if last is None else last)}
    return {"reason": reason, "message": message, "involvedObject": {"fieldPath": field}, **times, **more}


PULLED = 'Successfully pulled image "vllm/vllm-openai:v0.33.0" in {} ({} including waiting). Image size: 9 bytes.'
PRESENT = 'Container image "vllm/vllm-openai:v0.33.0" already present on machine'


def said(*items):
    return pulled(events(items), {"cache", "vllm"})


def test_a_pull_takes_what_kubelet_says_with_waiting():
    found = said(event("Pulling", at=1), event("Pulled", PULLED.format("9.5s", "12.25s"), at=14))
    assert (found.how, found.end) == ("pulled", moment(AT.format(14)))
    assert found.end - found.begin == 12.25


def test_a_pull_that_failed_at_first_begins_with_the_first_attempt():
    found = said(
        event("Pulling", at=1, last=20, count=2),
        event("Failed", "Failed to pull image: timeout", at=10),
        event("Pulled", PULLED.format("9s", "9s"), at=29),
    )
    assert found.end - found.begin == 28.0


def test_an_image_is_present_only_when_kubelet_says_so():
    assert said(event("Pulled", PRESENT)).how == "already present"
    assert said(event("Pulled", f"{PRESENT} and can be accessed by the pod")).how == "already present"
    assert said(event("Created"), event("Started")).how == "unknown"
    assert said().how == "unknown"


def test_what_was_pulled_once_and_then_present_was_pulled():
    found = said(event("Pulled", PULLED.format("3s", "3s"), at=5), event("Pulled", PRESENT, at=9, container="vllm"))
    assert found.how == "pulled"


def test_another_containers_image_is_not_the_engines():
    assert said(event("Pulled", PULLED.format("3s", "3s"), container="proxy")).how == "unknown"


def test_an_event_of_the_scheduler_has_microseconds_alone():
    (one,) = events(
        [
            {
                "reason": "Scheduled",
                "message": "",
                "involvedObject": {},
                "eventTime": "2026-11-30T10:00:00.123456Z",
                "firstTimestamp": None,
                "lastTimestamp": None,
                "series": {"lastObservedTime": "2026-11-30T10:00:09.000001Z"},
            }
        ]
    )
    assert one.first == moment("2026-11-30T10:00:00.123456Z")
    assert one.last == moment("2026-11-30T10:00:09.000001Z")
    assert events([{"reason": "x", "involvedObject": {}}]) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [("1m2.3s", 62.3), ("812ms", 0.812), ("1h0m1s", 3601), ("15.5\N{MICRO SIGN}s", 15.5e-6), ("0s", 0), ("5ns", 5e-9)],
)
def test_durations_are_those_that_go_prints(text, value):
    assert seconds(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "5", "s", "1m2", "1 s"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="is no duration"):
        seconds(text)
