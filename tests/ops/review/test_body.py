"""The comment: made of what the tools say, whole below GitHub's limit, and with nothing of a stranger but text."""

import copy
import json

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ops.markdown import code, fenced
from ops.review.body import LIMIT, MARKER, body
from ops.review.results import Found, read
from ops.review.written import Cloud, Rehearsed
from tests.harness import ROOT
from tests.ops.review.making import SNAPSHOTS, cloud, finding, impact, rehearsed, written

PAGE = (ROOT / "docs/pull-requests.md").read_text()
STACKS = ("dev", "prod", "staging")
NASTY = (
    "`` ` ```",
    "@octocat #1 https://example.com www.example.com 0123456789012345678901234567890123456789",
    "</details></summary><img src=x onerror=1><!-- x -->",
    "[a](https://example.com) ![b](c) <https://example.com>",
    "a\n\n```\n# b\r\n| c | d |\n|---|---|\u2028\u202e\x00",
    f"\n{MARKER}\n",
    "",
    " ",
    "\\",
)
TEXT = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(NASTY), max_size=3).map(" ".join))


def test_the_page_shows_the_comment_of_the_snapshots():
    shown = PAGE.partition("<!-- example: made of tests/ops/review/snapshots -->\n")[2].partition("<!-- end -->")[0]
    quoted = "".join(f"> {line}".rstrip() + "\n" for line in body(read(SNAPSHOTS, STACKS)).splitlines()[1:])
    assert shown.strip() == quoted.strip()


def test_the_snapshots_are_of_the_real_tools_and_say_all_three():
    told = {it.stack: it.rehearsed for it in read(SNAPSHOTS, ())}
    assert told.keys() == set(STACKS)
    assert told["dev"].impact.told.servers["gemma"].cache.cold
    assert {it.rule for it in told["prod"].preview.findings if it.level == "mandatory"} == {"required-tags"}
    assert told["staging"].preview.findings is None


def test_it_begins_with_the_marker_and_with_the_worst_stack(tmp_path):
    written(tmp_path, "b", rehearsed())
    written(tmp_path, "a", rehearsed(told=impact(drift=[{"pool": "p", "atMost": 1}])))
    written(tmp_path, "c", rehearsed(finding("mandatory")))
    lines = body(read(tmp_path, ())).splitlines()
    assert lines[0] == MARKER
    assert [line[:9] for line in lines if line.startswith("- **")] == ["- **`c`**", "- **`a`**", "- **`b`**"]


def test_it_says_of_each_stack_how_it_was_looked_at(tmp_path):
    written(tmp_path, "a", rehearsed())
    written(tmp_path, "b", rehearsed())
    written(tmp_path, "b", cloud(), "aws")
    written(tmp_path, "c", cloud(), "aws")
    text = body(read(tmp_path, ["d"]))
    for stack, how in {
        "a": "rehearsed without a cloud",
        "b": "rehearsed without a cloud, and previewed against AWS",
        "c": "previewed against AWS, and not rehearsed",
        "d": "neither rehearsed nor previewed",
    }.items():
        assert f"- **`{stack}`** ({how}): " in text


def test_what_is_not_checked_yet_is_counted_and_folded(tmp_path):
    its = [finding("unchecked", urn=None, says=f"unknown {n}", why="") for n in range(3)]
    text = body(read(written(tmp_path, "dev", rehearsed(*its)), ()))
    assert "3 things not checked yet" in text.splitlines()[3]
    fold = text.partition("<details><summary>Not checked yet: 3</summary>")[2].partition("</details>")[0]
    assert fold.split("\n")[2] == "- `gpu-limit`: `unknown 0`"


def test_a_finding_has_rule_level_resource_and_message(tmp_path):
    text = body(read(written(tmp_path, "dev", rehearsed(finding("mandatory"), code=1)), ()))
    line = "- `gpu-limit` (mandatory): `set one`\n  - `kubernetes:karpenter.sh/v1:NodePool` `pool`: `no limit`"
    assert f"**Refused by a policy**\n\n{line}\n" in text


def test_commit_and_run_are_named(tmp_path):
    text = body(read(tmp_path, ["dev"]), commit="0" * 40, run="https://github.com/o/r/actions/runs/1")
    assert f"at `{'0' * 40}` in [this run](https://github.com/o/r/actions/runs/1)" in text.splitlines()[-1]


def test_one_mistake_is_told_once(tmp_path):
    why = "the stack file has 1 mistake:\n  x: 0"
    both = {"exitCode": 1, "said": f"impact: progress\n{why}", "told": impact(refusal=why)}
    text = body(read(written(tmp_path, "dev", rehearsed(code=1, said=why, impact=both)), ()))
    assert text.count("the stack file has 1 mistake:") == 1


READER = MarkdownIt("commonmark").enable("table").enable("strikethrough")
OURS = {"<sub>", "</sub>"}


def tokens(text):
    for token in READER.parse(text):
        yield token
        yield from token.children or ()


def harmless(text):
    """Links, pictures, headings, tables and HTML are ours, and what is in code is all the rest."""
    assert text.startswith(f"{MARKER}\n")
    for it in tokens(text.removeprefix(f"{MARKER}\n")):
        assert it.type not in {"link_open", "image", "table_open", "hr", "code_block"}, it
        if it.type == "heading_open":
            assert it.tag == "h3"
        if it.type == "html_inline":
            assert it.content in OURS
        if it.type == "html_block":
            left = it.content.replace("</details>", "").replace("<details><summary>", "").replace("</summary>", "")
            assert set(left) <= set("abcdefghijklmnopqrstuvwxyzN0123456789: \n"), left
        if it.type == "text":
            assert not {"@", "<", "`", "|"} & set(it.content), it.content


@given(TEXT)
def test_nothing_ends_a_piece_of_code(text):
    (inline,) = READER.parseInline(f"a {code(text)} b")[0:1]
    kinds = [it.type for it in inline.children]
    assert kinds == ["text", "code_inline", "text"]
    assert code(text).count("\n") == 0


@given(TEXT)
def test_nothing_ends_a_block_of_code(text):
    kinds = [it.type for it in READER.parse("\n".join(["a", "", *fenced(text, 200), "", "b"]))]
    assert kinds == [
        "paragraph_open",
        "inline",
        "paragraph_close",
        "fence",
        "paragraph_open",
        "inline",
        "paragraph_close",
    ]


def stranger(text):
    """Everything that a pull request can write somewhere, at once."""
    change = {"type": text, "name": text, "action": "update", "paths": [text]}
    told = impact(
        base=text,
        head=text,
        resources={text: 1},
        servers={text: {"state": "both", "cache": {"cold": True, "moved": {text: []}}, "noRoomToBuild": text,
                        "weightsToOnboard": text, "predicted": {"before": {"seconds": {text: 1.0}}}}},
        drift=[{"pool": text, "atMost": 1, "window": text}],
        systemNodes=[{"group": text, "nodes": 1}],
        ended=[{"type": text, "name": text, "action": "delete", "forcedBy": [text], "stateful": text}],
        cost={"usdPerHour": None, "standing": [{"what": text, "before": text, "after": text, "usd": [None, 1.0]}]},
        warnings=[text],
        limits=[{"passed": [text], "unclear": [text]}],
    )  # fmt: skip
    findings = [finding(level, rule=text, urn=text, says=text, why=text + "x") for level in ("advisory", "unchecked")]
    whole = rehearsed(*findings, code=1, said=text, told=told)
    refused = rehearsed(finding("mandatory", rule=text, urn=text, says=text), impact=None)
    aws = Cloud.model_validate_json(json.dumps(cloud(exitCode=1, said=text, changes=[change])))
    return [
        Found(stack="dev", rehearsed=Rehearsed.model_validate_json(json.dumps(whole)), aws=aws),
        Found(
            stack="prod",
            rehearsed=Rehearsed.model_validate_json(json.dumps(refused)),
            unreadable=(text,),
            left_out=True,
        ),
    ]


@settings(deadline=None)
@given(TEXT)
def test_a_stranger_writes_text_and_nothing_else(text):
    harmless(body(stranger(text)))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 25), st.integers(0, 400), st.sampled_from(["x", "é", "\U0001f600", "`", "\n"]))
def test_it_is_never_longer_than_GitHub_takes_and_says_what_is_cut(stacks, times, sign):
    (whole, _) = stranger(sign * times)
    few = copy.deepcopy(whole.rehearsed.preview.findings)
    preview = whole.rehearsed.preview.model_copy(update={"findings": few * 120})
    found = [
        Found(stack=f"s{n}", rehearsed=whole.rehearsed.model_copy(update={"preview": preview}), aws=whole.aws)
        for n in range(stacks)
    ]
    text = body(found)
    assert len(text) <= len(text.encode()) <= LIMIT < 65_536
    harmless(text)


def test_the_least_important_is_cut_first(tmp_path):
    its = [finding("unchecked", urn=None, says=f"{n} " + "x" * 390) for n in range(190)]
    bad = [finding("mandatory", says=f"{n} " + "y" * 350) for n in range(60)]
    text = body(read(written(tmp_path, "dev", rehearsed(*its, *bad, code=1)), ()))
    assert text.count("y" * 350) == 60
    shown = text.count("x" * 390)
    assert 0 < shown < 190
    assert f"- {190 - shown} more cut: a comment takes no more" in text


def test_stacks_that_do_not_fit_are_counted(tmp_path):
    for n in range(30):
        aws = cloud(changes=[{"type": "t" * 200, "name": "n" * 200, "action": "update"}])
        told = impact(
            servers={f"s{i}": {"state": "new"} for i in range(9)}, warnings=["w"], drift=[{"pool": "p", "atMost": 1}]
        )
        written(tmp_path, f"s{n}", rehearsed(finding("advisory"), finding("unchecked"), told=told))
        written(tmp_path, f"s{n}", aws, "aws")
    found = [*read(tmp_path, ()), *(Found(stack=f"t{n}", unreadable=("x" * 120,) * 6) for n in range(40))]
    text = body(found)
    assert len(text.encode()) <= LIMIT
    assert " more stacks, which are cut here\n" in text
