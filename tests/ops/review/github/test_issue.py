"""An issue for each stack that has drifted: opened, updated, closed, and left alone when nothing is known."""

import pytest

from tests.ops.review.github.server import BOT, TOKEN
from tests.ops.review.making import cloud, written

CHANGES = [{"type": "aws:s3/bucket:Bucket", "name": "models", "action": "update", "paths": ["tags"]}]
DRIFTED = cloud(exitCode=1, refreshed=True, findings=None, changes=CHANGES)
CLEAN = cloud(refreshed=True, findings=None)


@pytest.fixture
def drift(site, ops, folder):
    results = folder / "results"
    results.mkdir()

    def run(result=None):
        if result is not None:
            written(results, "dev", result, "aws")
        code, out, err = ops("review", "drift", "--results", "results", "--repository", "o/r")
        assert TOKEN not in out + err
        return code, out, err

    return run


def test_it_is_opened_updated_and_closed_with_the_drift(site, drift):
    assert drift(DRIFTED) == (1, "dev: opened https://github.com/o/r/1\n", "")
    assert drift(DRIFTED) == (1, "dev: still there https://github.com/o/r/1\n", "")
    (issue,) = site.issues
    assert issue["title"] == "Drift: dev"
    assert issue["body"].splitlines()[:6] == [
        "<!-- vllm-eks: drift of dev -->",
        "**`dev`**: **drifted**: `models`",
        "",
        "**Not as the default branch says**",
        "",
        "- `aws:s3/bucket:Bucket` `models`: update `tags`",
    ]
    more = cloud(**{**DRIFTED, "changes": [*CHANGES, {**CHANGES[0], "name": "other"}]})
    drift(more)
    assert "`other`" in issue["body"]
    assert drift(CLEAN) == (0, "dev: closed https://github.com/o/r/1\n", "")
    assert (issue["state"], issue["state_reason"]) == ("closed", "completed")
    assert drift(CLEAN) == (0, "dev: nothing has drifted\n", "")
    assert len([it for it in site.asked if it.startswith("POST")]) == 1


def test_a_preview_that_failed_is_no_all_clear(site, drift):
    drift(DRIFTED)
    failed = cloud(exitCode=1, refreshed=True, findings=None, said="no credentials")
    assert drift(failed) == (1, "dev: cannot be told; its issue stays as it is\n", "")
    assert site.issues[0]["state"] == "open"


def test_no_result_at_all_is_unclear(drift):
    assert drift() == (3, "", "--results results: no result at all, so nothing is known\n")


def test_an_issue_of_somebody_else_or_a_pull_request_is_left_alone(site, drift):
    mark = "<!-- vllm-eks: drift of dev -->"
    for n, (login, more) in enumerate([("octocat", {}), (BOT, {"pull_request": {}})]):
        site.issues.append({"id": n, "number": n, "state": "open", "user": {"login": login}, "body": mark, **more})
    assert drift(DRIFTED)[1] == "dev: opened https://github.com/o/r/3\n"
    assert [it["body"] for it in site.issues[:2]] == [mark, mark]


def test_an_issue_is_never_longer_than_GitHub_takes(site, drift):
    many = [{**CHANGES[0], "name": f"{n}" + "x" * 150, "type": "t" * 160, "paths": ["p" * 160] * 5} for n in range(300)]
    assert drift(cloud(**{**DRIFTED, "changes": many}))[0] == 1
    assert len(site.issues[0]["body"]) < 65_536
    assert " more cut: an issue takes no more\n" in site.issues[0]["body"]
