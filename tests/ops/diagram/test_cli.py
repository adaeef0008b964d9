"""`ops diagram`: of a plan, or of a preview now."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ops.diagram import picture, plan_file
from ops.failures import UsageError
from rehearsal.engine.run import RunFailedError
from rehearsal.engine.run import UsageError as NotRehearsedError
from rehearsal.toolchain.pulumi_cli import ToolMissingError
from tests.harness import ROOT, SECRETS
from tests.ops.test_cli import HEAVY, ran


@pytest.fixture
def written(plan, folder):
    """The dev stack's plan in a file of the current folder."""
    Path("plan.json").write_text(json.dumps(plan("dev").as_json()))
    return "plan.json"


def test_a_plan_of_a_file_is_drawn_and_told(ops, written):
    code, out, err = ops("diagram", "--preview", written, "--output", "dev.svg", "--json")
    assert (code, err) == (0, "")
    assert Path("dev.svg").read_text().startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    (server,) = json.loads(out)["servers"]
    assert [it["number"] for it in server["paths"]] == [1, 2, 3, 4, 5]
    assert server["boxes"]["engine"]["resources"][0].endswith("::gemma")


def test_a_preview_is_made_when_no_plan_is_given(ops, plan, folder, monkeypatch):
    monkeypatch.chdir(ROOT)
    code, out, err = ops("diagram", "--stack", "prod", "--secret", "=".join(SECRETS[0]), "--output", "-")
    assert (code, err) == (0, "preview of prod: asking the engine (0 s)\n")
    assert out.endswith("</svg>\n")
    assert "vllm-eks, stack prod: the paths of a cold start" in out


def test_a_picture_on_standard_output_is_that_of_a_file(ops, written):
    assert ops("diagram", "--preview", written, "--output", "dev.svg")[:2] == (0, "")
    assert ops("diagram", "--preview", written, "--output", "-")[1] == Path("dev.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing to draw to: --output FILE.svg, or --json\n"),
        (("--json", "--output", "-"), "--json and --output -: one of both on standard output\n"),
        (("--output", "no/where.svg"), "--output no/where.svg: no such folder; expected a file\n"),
        (
            ("--preview", "plan.json", "--output", "plan.json"),
            "--output plan.json: is one of the files to read; expected another name\n",
        ),
        (("--json", "--preview", "none.json"), "--preview none.json: No such file or directory\n"),
        (
            ("--json", "--preview", "Pulumi.dev.yaml"),
            "--preview Pulumi.dev.yaml: no plan; expected what `python -m rehearsal preview --json FILE` writes\n",
        ),
        (("--json", "--secret", "s3cret"), "--secret: expected PATH=VALUE\n"),
    ],
)
def test_usage_is_2(ops, written, arguments, said):
    assert ops("diagram", *arguments) == (2, "", said)


@pytest.mark.parametrize("text", ["[]", '{"project": "p"}', '{"resources": 1}', "{", '"' + "x" * 10 + '"'])
def test_a_file_that_is_no_plan_is_2(ops, folder, text):
    Path("plan.json").write_text(text)
    said = "--preview plan.json: no plan; expected what `python -m rehearsal preview --json FILE` writes\n"
    assert ops("diagram", "--json", "--preview", "plan.json") == (2, "", said)


DRAWN = ("apps/v1:Deployment", "core/v1:Service", "NodePool", "VpcEndpoint", "VllmServer", "bucket:Bucket")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), odd=st.sampled_from([None, 0, 1.5, "", "\x00", [], [[1]], [{}], {}, {"a": 1}]))
def test_a_plan_with_something_odd_in_it_is_drawn_or_refused(plan, folder, data, odd):
    whole = json.loads(json.dumps(plan("dev").as_json()))
    at = data.draw(st.sampled_from([it for it in whole["resources"] if it["type"].endswith(DRAWN)]))
    while True:
        key = data.draw(st.sampled_from(range(len(at)) if isinstance(at, list) else sorted(at)))
        if not at[key] or not isinstance(at[key], dict | list) or data.draw(st.booleans()):
            break
        at = at[key]
    at[key] = odd
    Path("plan.json").write_text(json.dumps(whole))
    try:
        picture.svg(plan_file.read("plan.json")).encode()
    except UsageError as error:
        assert "no plan" in str(error)  # noqa: PT017


def test_a_stack_that_is_not_here_is_2_in_the_words_of_the_rehearsal(ops, folder):
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    code, out, err = ops("diagram", "--stack", "qa", "--json")
    assert (code, out) == (2, "")
    assert "Pulumi.qa.yaml" in err


def test_another_folder_than_the_programs_is_2(ops, folder):
    said = "no Pulumi.yaml here; expected the program's folder, or --preview PLAN.json\n"
    assert ops("diagram", "--json") == (2, "", f"preview of dev: asking the engine (0 s)\n{said}")


@pytest.mark.parametrize(
    ("raised", "code"), [(NotRehearsedError, 2), (RunFailedError, 1), (ToolMissingError, 3)], ids=str
)
def test_what_the_rehearsal_says_is_passed_on_with_its_exit_code(ops, folder, monkeypatch, raised, code):
    def refuse(stack, **_):
        raise raised(f"{stack}: no")

    shutil.copy(ROOT / "Pulumi.yaml", folder)
    monkeypatch.setattr(plan_file, "preview", refuse)
    assert ops("diagram", "--json") == (code, "", "preview of dev: asking the engine (0 s)\ndev: no\n")


def test_help_needs_none_of_the_sdks():
    loaded = {*HEAVY, "rehearsal"}
    script = (
        "import sys\nfrom ops.cli import app\nfrom ops.coldstart.report.cli import refit, report\n"
        "try:\n    app(['diagram', '--help'])\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print('loaded:', *sorted({loaded!r} & sys.modules.keys()))"
    )
    done = ran("-c", script)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Example: .venv/bin/python -m ops diagram --stack dev --output dev.svg" in done.stdout
    assert done.stdout.splitlines()[-1] == "loaded:"
