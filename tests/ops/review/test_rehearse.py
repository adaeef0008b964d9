"""Both commands have their say, whatever becomes of the other; and the worse exit code is the job's."""

import json
import subprocess
import sys

import pytest

from ops.review import rehearse as module
from ops.review import servers
from ops.review.rehearse import worst
from ops.review.results import read
from tests.ops.impact.conftest import committed, git
from tests.ops.review.making import finding, impact

PLAN = {"findings": [finding("advisory")], "resources": [{"action": "create", "custom": True}]}


@pytest.fixture
def rehearse(ops, folder, monkeypatch):
    """`rehearse(preview, compared)`: exit code, result, and the commands that were run."""
    git(folder, "init", "--quiet")
    committed(folder)

    def run(preview, compared, *more):
        asked = []

        def python(*arguments):
            asked.append(arguments)
            code, out, said = preview if arguments[0] == "rehearsal" else compared
            if arguments[0] == "rehearsal" and out:
                file = arguments[arguments.index("--json") + 1]
                with open(file, "w") as there:  # noqa: PTH123
                    there.write(out)
            return subprocess.CompletedProcess(arguments, code, out, said)

        monkeypatch.setattr(module, "_python", python)
        code, _, err = ops("review", "rehearse", "--base", "HEAD", "--output", "results", *more)
        found = read(folder / "results", ()) if (folder / "results").is_dir() else ()
        return code, found, asked, err

    return run


GOOD = (0, json.dumps(PLAN), "")
SAME = (0, json.dumps(impact()), "")


def test_both_say_nothing_bad(rehearse):
    code, (found,), asked, _ = rehearse(GOOD, SAME, "--secret", "a=b", "--fail-on", "drift")
    assert code == 0
    assert (found.stack, found.rehearsed.preview.counts) == ("dev", {"create": 1})
    assert found.rehearsed.impact.told.resources == {"same": 9}
    ((*preview, _, secret, pair), compared) = asked
    assert (preview[:5], secret, pair) == (["rehearsal", "preview", "--stack", "dev", "--policies"], "--secret", "a=b")
    assert compared == (
        *("ops", "impact", "--base", "HEAD", "--stack", "dev", "--json"),
        *("--fail-on", "drift", "--secret", "a=b"),
    )


@pytest.mark.parametrize(("preview", "compared", "code"), [(1, 0, 1), (0, 3, 3), (3, 1, 1), (0, 2, 2), (0, 139, 1)])
def test_the_worse_one_decides_and_both_are_written(rehearse, preview, compared, code):
    ended, (found,), _, _ = rehearse((preview, "", "why"), (compared, "", "why not"))
    assert ended == code
    assert (found.rehearsed.preview.exit_code, found.rehearsed.impact.exit_code) == (preview, compared)
    assert (found.rehearsed.preview.said, found.rehearsed.impact.said) == ("why", "why not")


def test_a_stack_that_the_base_does_not_have_is_new(rehearse, folder):
    (folder / "Pulumi.qa.yaml").write_text("config: {}\n")
    code, (found,), asked, _ = rehearse(GOOD, SAME, "--stack", "qa")
    assert (code, found.rehearsed.impact, len(asked)) == (0, None, 1)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--base", "nope"), "--base nope: not a revision that git knows"),
        (("--stack", "../x"), "--stack ../x: expected letters, digits, - and _, at most 40"),
    ],
    ids=["base", "stack"],
)
def test_what_cannot_be_asked_is_usage_and_starts_nothing(rehearse, more, said):
    code, found, asked, err = rehearse(GOOD, SAME, *more)
    assert (code, found, asked, err.splitlines()[-1]) == (2, (), [], said)


def test_a_command_is_a_process_of_this_python(capfd):
    done = module._python("json.tool", "--help")
    assert (done.returncode, "usage" in done.stdout) == (0, True)
    assert module._python("no_such_module").returncode == 1
    assert "No module named no_such_module" in capfd.readouterr().err


@pytest.mark.parametrize(("codes", "expected"), [([], 0), ([0, 0], 0), ([0, 3, 2], 2), ([3, 1], 1), ([0, -9], 1)])
def test_the_worst_of_exit_codes(codes, expected):
    assert worst(codes) == expected


def test_every_server_is_asked_also_after_one_that_does_not_answer(ops, folder, edit, monkeypatch):
    ran = []

    def run(command, **_):
        ran.append(command[3:])
        return subprocess.CompletedProcess(command, 3 if len(ran) == 1 else 0)

    monkeypatch.setattr(servers.subprocess, "run", run)
    edit(lambda settings: settings["servers"].update(other=json.loads(json.dumps(settings["servers"]["gemma"]))))
    assert ops("review", "answers")[0] == 3
    assert ran == [["try", "--server", name, "--stack", "dev"] for name in ("gemma", "other")]


def test_only_candidates_are_built(ops, folder, edit, monkeypatch):
    ran = []
    monkeypatch.setattr(servers.subprocess, "run", lambda it, **_: ran.append(it) or subprocess.CompletedProcess(it, 0))
    assert ops("review", "candidates") == (0, "candidates of dev: none\n", "")
    edit(lambda settings: settings["servers"]["gemma"].update(candidate={"version": "0.26.0", "args": {}}))
    assert ops("review", "candidates") == (0, "candidates of dev: gemma\n", "")
    arguments = ["cache", "build", "--server", "gemma", "--stack", "dev", "--candidate", "--yes"]
    assert ran == [[sys.executable, "-m", "ops", *arguments]]


@pytest.mark.parametrize(("code", "said"), [(0, ""), (1, "dev: **its preview fails** (exit code 1)\n")])
def test_a_verdict_passes_on_what_was_found(rehearse, ops, folder, code, said):
    rehearse((code, json.dumps(PLAN), ""), SAME)
    for path in folder.glob("Pulumi.[ps]*.yaml"):
        path.unlink()
    assert ops("review", "verdict", "--results", "results") == (code, said, "")


def test_a_body_is_of_all_stack_files_or_of_those_that_are_named(rehearse, ops):
    rehearse(GOOD, SAME)
    every = ops("review", "body", "--results", "results")[1]
    one = ops("review", "body", "--results", "results", "--only", "dev")[1]
    assert [it for it in ("dev", "prod", "staging") if f"**`{it}`**" in every] == ["dev", "prod", "staging"]
    assert [it for it in ("dev", "prod", "staging") if f"**`{it}`**" in one] == ["dev"]


@pytest.mark.parametrize(
    ("option", "value"), [("--run", "javascript:x"), ("--run", "https://a/b)x"), ("--commit", "`x`"), ("--commit", "a")]
)
def test_what_is_no_address_and_no_commit_is_usage(ops, tmp_path, option, value):
    assert ops("review", "body", "--results", str(tmp_path), option, value)[:2] == (2, "")
