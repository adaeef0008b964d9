"""Results are somebody else's files: read with a limit, checked, and never believed."""

import json

import pytest

from ops.failures import RefusedError
from ops.review import results
from ops.review.points import exit_code, points
from ops.review.results import LARGEST, number, read
from tests.ops.review.making import cloud, rehearsed, written


def only(folder, **more):
    (found,) = read(folder, (), **more)
    return found


def test_a_stack_without_a_result_is_there_and_nothing_is_known_of_it(tmp_path):
    (found,) = read(tmp_path, ["dev"])
    assert [it.text for it in points(found)] == ["**nothing is known**: no job wrote a result"]
    assert exit_code(points(found)) == 3


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[" * 100_000, "Invalid JSON: recursion limit exceeded at line 1 column 202"),
        ("{}", "preview: Field required"),
        ('{"preview": {"exitCode": "0"}, "impact": null}', "preview.exitCode: Input should be a valid integer"),
        (
            '{"preview": {"exitCode": 256}, "impact": null}',
            "preview.exitCode: Input should be less than or equal to 255",
        ),
        (
            '{"preview": {"exitCode": 0, "counts": {"create": 1e999}}, "impact": null}',
            "preview.counts.create: Input should be a valid integer",
        ),
        (" " * (LARGEST + 1), f"more than {LARGEST} bytes"),
    ],
    ids=["deep", "empty", "text", "code", "infinite", "large"],
)
def test_what_is_no_result_is_told_and_is_bad(tmp_path, content, why):
    found = only(written(tmp_path, "dev", content))
    assert found.unreadable == (f"dev.rehearsed.json: {why}",)
    assert exit_code(points(found)) == 1


def test_a_link_is_not_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(json.dumps(rehearsed()))
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "dev.rehearsed.json").symlink_to(elsewhere)
    (folder / "pull-request").symlink_to(elsewhere)
    assert read(folder, ()) == ()
    with pytest.raises(RefusedError):
        number(folder)


@pytest.mark.parametrize("name", ["a b", "@x", "<b>", "..", "é", "x" * 41])
def test_a_file_with_another_name_is_none_of_ours(tmp_path, name):
    assert read(written(tmp_path, name, rehearsed()), ()) == ()


def test_only_so_many_files_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "MOST_FILES", 2)
    for stack in ("a", "b", "c"):
        written(tmp_path, stack, rehearsed())
    assert [it.stack for it in read(tmp_path, ())] == ["a", "b"]


def test_a_preview_against_AWS_of_a_fork_is_none(tmp_path):
    written(tmp_path, "dev", rehearsed())
    written(tmp_path, "dev", cloud(exitCode=0), "aws")
    own, fork = only(tmp_path), only(tmp_path, fork=True)
    assert (own.aws is not None, own.left_out) == (True, False)
    assert (fork.aws, fork.left_out) == (None, True)
    assert "a preview against AWS is left out: a fork has no credentials, so it is none" in [
        it.text for it in points(fork)
    ]


@pytest.mark.parametrize(("content", "expected"), [("7\n", 7), ("1234567890", 1234567890)])
def test_the_number_of_a_pull_request_is_read_in_any_depth(tmp_path, content, expected):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "pull-request").write_text(content)
    assert number(tmp_path) == expected


@pytest.mark.parametrize("content", ["", "0", "-1", "1 2", "7\nx=1", "1" * 40, "$(id)"])
def test_what_is_no_number_is_refused(tmp_path, content):
    (tmp_path / "pull-request").write_text(content)
    with pytest.raises(RefusedError) as why:
        number(tmp_path)
    assert str(why.value) == f"{tmp_path}: no file pull-request with a number in it"
