"""The worst comes first, each with the exit code that it is worth."""

import pytest

from ops.review.points import exit_code, points
from ops.review.results import read
from tests.ops.review.making import cloud, finding, impact, rehearsed, written


def said(folder, result=None, aws=None):
    if result is not None:
        written(folder, "dev", result)
    if aws is not None:
        written(folder, "dev", aws, "aws")
    (found,) = read(folder, ["dev"])
    return [it.text for it in points(found)], exit_code(points(found))


def test_nothing_is_said_to_be_nothing(tmp_path):
    assert said(tmp_path, rehearsed()) == (["nothing changes (9 resources)"], 0)


def server(**more):
    return {"state": "both", "cache": {"cold": False, "moved": {}}, "pods": {"restart": False}, **more}


def test_the_worst_comes_first(tmp_path):
    told = impact(
        resources={"update": 1},
        servers={
            "gemma": server(
                cache={"cold": True, "moved": {"flag.x": [1, 2]}},
                interruptions=[{"when": "rollout", "seconds": 202.0}, {"when": "drift", "seconds": 219.6}],
            )
        },
        drift=[{"pool": "p", "atMost": 2}],
        ended=[
            {"type": "t", "name": "n", "action": "replace"},
            {"type": "t", "name": "models", "action": "delete", "stateful": "bucket"},
            {"type": "t", "name": "c", "action": "delete", "routine": True},
        ],
        cost={"usdPerHour": 0.5, "standing": [], "ceiling": []},
        limits=[{"passed": ["--fail-on drift: 2"], "unclear": []}],
    )
    findings = (finding("advisory"), finding("unchecked", urn=None), finding("mandatory"))
    assert said(tmp_path, rehearsed(*findings, code=1, said="refused", told=told)) == (
        [
            "**the policies refuse 1 thing**: `gpu-limit`",
            "**beyond a limit**: `--fail-on drift: 2`",
            "**deleted, with what it holds**: `bucket models`",
            "**cold compile** of `gemma`",
            "**nothing serves for up to 220 s** (`gemma`)",
            "up to 2 GPU nodes go, of `p`",
            "replaced: `n`",
            "+0.50 USD an hour that run all the time",
            "the policies advise against 1 thing: `gpu-limit`",
            "1 thing not checked yet",
        ],
        1,
    )


@pytest.mark.parametrize(
    ("result", "text", "code"),
    [
        (rehearsed(code=1, said="x"), "**its preview fails** (exit code 1)", 1),
        (
            rehearsed(impact={"exitCode": 3, "said": "", "told": {"refusal": "no"}}),
            "**not compared, so nothing is known of what it does** (exit code 3)",
            3,
        ),
        (
            rehearsed(impact={"exitCode": 2, "said": "", "told": None}),
            "**not compared, so nothing is known of what it does** (exit code 2)",
            1,
        ),
        (rehearsed(told=impact(limits=[{"passed": [], "unclear": ["?"]}])), "a limit cannot be told: `?`", 3),
        (
            rehearsed(preview={"exitCode": 0, "said": "", "findings": None}),
            "**no policy was run**",
            3,
        ),
        (rehearsed(impact=None), "a new stack, of 9 resources: nothing stands that could change", 0),
        (rehearsed(finding("mandatory")), "**the policies refuse 1 thing**: `gpu-limit`", 1),
    ],
    ids=["preview", "compared", "usage", "limit", "pack", "new", "believed"],
)
def test_each_way_to_end_has_its_code(tmp_path, result, text, code):
    """The last: an exit code of 0 beside a refusal is a claim too."""
    texts, ended = said(tmp_path, result)
    assert (texts[0], ended) == (text, code)


def test_a_time_that_nobody_knows_is_not_hidden_behind_one_that_is_known(tmp_path):
    its = [{"when": "rollout", "seconds": 20.0}, {"when": "drift", "seconds": None}]
    texts, _ = said(tmp_path, rehearsed(told=impact(servers={"g": server(interruptions=its)})))
    assert texts[0] == "**nothing serves for a time that is not known** (`g`)"


def test_what_both_previews_refuse_is_counted_once(tmp_path):
    texts, _ = said(tmp_path, rehearsed(finding("mandatory")), cloud(exitCode=1, findings=[finding("mandatory")]))
    assert texts[0] == "**the policies refuse 1 thing**: `gpu-limit`"


def test_a_preview_against_AWS_that_fails_or_asks_no_policy_is_told(tmp_path):
    assert said(tmp_path, rehearsed(), cloud(exitCode=1, said="no credentials"))[0][0] == (
        "**its preview against AWS fails** (exit code 1)"
    )
    assert said(tmp_path, None, cloud(findings=None)) == (
        ["**no policy was run against AWS**", "nothing changes (9 resources)"],
        3,
    )


def test_what_has_drifted_is_bad_and_needs_no_policy(tmp_path):
    changes = [{"type": "aws:s3/bucket:Bucket", "name": "models", "action": "update", "paths": ["tags"]}]
    drifted = cloud(exitCode=1, refreshed=True, findings=None, changes=changes)
    assert said(tmp_path, None, drifted) == (["**drifted**: `models`"], 1)
    assert said(tmp_path, None, cloud(refreshed=True, findings=None)) == ([], 0)
