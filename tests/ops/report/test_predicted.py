"""Predictions are the budget's own, and only of what it knows."""

import pytest

from infra.instances import catalogue
from ops.coldstart.record import Subject
from ops.coldstart.report.starts.predicted import doubt, timeline
from serving.budget.timeline import total
from serving.ladder import PRESETS
from tests.ops.report.article import SUBJECT


def subject(**more):
    return Subject(**{**SUBJECT, **more})


@pytest.mark.parametrize(
    ("preset", "start", "expected"),
    [("step-0", "fresh node", 428), ("step-1", "restart", 210), ("step-4", "fresh node", 217)],
)
def test_the_articles_server_is_predicted_as_the_docs_say(preset, start, expected):
    """docs/cold-start.md, One word."""
    assert doubt(subject()) is None
    techniques = frozenset(PRESETS[preset].techniques)
    assert total(timeline(subject(), techniques, start)) == pytest.approx(expected, abs=0.6)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"instance_type": None}, "the records do not say instanceType"),
        ({"model_gib": None}, "the records do not say modelGib"),
        ({"instance_type": "m7i.large"}, "the catalogue of instances has no m7i.large"),
        ({"instance_type": "g6f.large"}, "the catalogue of instances has no g6f.large"),
        ({"instance_type": "g7.12xlarge"}, "no pool may have the GPU of g7.12xlarge"),
        ({"engine_version": "0.40.0"}, "no vLLM 0.40.0 here, only 0.26.0, 0.33.0"),
        ({"model_gib": -1.0}, "-1 GiB on 1 GPUs of g7e.2xlarge is no server"),
        ({"tensor_parallel": 2}, "30.5 GiB on 2 GPUs of g7e.2xlarge is no server"),
        ({"techniques": ("magic",)}, "no technique magic here"),
    ],
)
def test_what_the_program_does_not_know_is_not_predicted_and_said(more, why):
    assert doubt(subject(**more)) == why


@pytest.mark.parametrize("kind", catalogue())
def test_every_instance_is_predicted_or_doubted(kind):
    of = subject(instance_type=kind)
    assert doubt(of) or total(timeline(of, frozenset(), "restart")) > 0


def test_several_gpus_share_their_host():
    of = subject(instance_type="g6e.12xlarge", tensor_parallel=2)
    assert doubt(of) is None
    assert total(timeline(of, frozenset({"streaming-loader"}), "restart")) > 0
