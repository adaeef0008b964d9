"""Put together is what is alike, compared what differs in techniques alone."""

import pytest

from ops.coldstart.record import Subject
from ops.coldstart.report.starts.configuration import OWN, SETTING, TITLES, VARYING, settings, title, value
from serving.ladder import PRESETS
from tests.ops.report.article import ladder, record, repeated

PHASES = {"weights": 19.8}


def one(preset="step-1", **subject):
    return record(preset, "restart", "none", PHASES, 30, subject=subject)


def names(*records):
    return [[it.name for it in setting.configurations] for setting in settings(records)]


def test_every_field_of_a_subject_has_its_place():
    """One in no list would be mixed without a word."""
    assert sorted((*SETTING, *OWN, *VARYING)) == sorted(Subject.model_fields)
    assert set(TITLES) == set(Subject.model_fields)


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("engine_version", "0.33.0"),
        ("image", "other:v1"),
        ("instance_type", "g7e.4xlarge"),
        ("capacity", "on-demand"),
        ("region", "us-west-2"),
        ("model", "s3://other/models/a/b/"),
        ("model_gib", 15.0),
        ("tensor_parallel", 2),
    ],
)
def test_starts_of_other_settings_are_never_compared(field, given):
    assert len(settings([one(), one(**{field: given})])) == 2


@pytest.mark.parametrize(("field", "given"), [("stack", "dev"), ("server", "b"), ("fingerprint", "f" * 32)])
def test_configurations_of_one_title_are_set_apart_by_what_differs(field, given):
    ((before, after),) = names(one(**{field: "a"}), one(**{field: given}))
    assert {before, after} == {f"step-1 ({TITLES[field]} {it})" for it in ("a", given)}


def test_a_zone_does_not_set_starts_apart_and_is_counted():
    (setting,) = settings([one(zone="b"), one(zone="a"), one(zone="b"), one(zone=None)])
    (configuration,) = setting.configurations
    assert configuration.zones == {"a": 1, "b": 2}
    assert len(configuration.runs[0].records) == 4


def test_the_ladder_stands_in_its_order_whatever_the_order_of_the_files():
    records = repeated()[::-1]
    ((found),) = names(*records)
    assert found == ["step-0", "step-1", "step-2", "step-3", "step-4", "step-5"]
    assert settings(records) == settings(repeated())


def test_behind_the_presets_come_sets_of_techniques_the_smaller_first():
    many = one(None, techniques=("streaming-loader", "node-cache"))
    few = one(None, techniques=("node-cache",))
    assert names(many, few, one("nightly-idle"), one(None)) == [
        ["nightly-idle", "no techniques", "node-cache", "streaming-loader + node-cache"]
    ]


@pytest.mark.parametrize(
    ("preset", "techniques", "expected"),
    [
        ("step-2", (*PRESETS["step-2"].techniques, "fast-probes"), "step-2 + fast-probes"),
        ("step-2", ("streaming-loader",), "step-2 without node-cache"),
        ("of another program", ("x",), "of another program"),
        (None, ("a", "b"), "a + b"),
    ],
)
def test_a_title_says_the_preset_and_what_is_not_of_it(preset, techniques, expected):
    assert title(Subject(engine_version="0.33.0", preset=preset, techniques=techniques)) == expected


def test_load_runs_and_hit_runs_are_never_put_together():
    (setting,) = settings(ladder())
    step2 = next(it for it in setting.configurations if it.name == "step-2")
    assert [(it.start, it.role, it.counted) for it in step2.runs] == [
        ("fresh node", "load", False),
        ("restart", "hit", True),
        ("restart", "load", False),
    ]


@pytest.mark.parametrize(("server", "expected"), [("gemma", "no techniques"), (None, "techniques unknown")])
def test_a_server_without_techniques_is_another_thing_than_a_log_of_nobody_knows_which(server, expected):
    subject = Subject(engine_version="0.33.0", server=server)
    assert title(subject) == expected
    assert value(subject, "techniques") == ("none" if server else "-")


def test_logs_with_and_without_the_imports_are_not_put_together():
    """A log that begins after them has a shorter whole start, and a median of both is nobody's."""
    late = record("step-1", "restart", "none", PHASES, 30, source="logs", ready=None)
    whole = record("step-1", "restart", "none", {"imports": 18.0, **PHASES}, 48, source="logs", ready=None)
    (setting,) = settings([late, whole, late])
    assert [(it.source, len(it.records)) for it in setting.configurations[0].runs] == [("logs", 1), ("late logs", 2)]


def test_logs_and_clusters_are_never_put_together():
    log = record("step-1", "restart", "none", PHASES, 30, source="logs", ready=None)
    (setting,) = settings([one(), log])
    assert [it.source for it in setting.configurations[0].runs] == ["cluster", "late logs"]
