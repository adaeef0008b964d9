"""Versions that move by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pulumi

from guardrails.pools import NODE_CLASS
from guardrails.rule import Around, Resource, Rule, whole
from guardrails.value import Value

RELEASE = "kubernetes:helm.sh/v3:Release"
CHARTS = frozenset({RELEASE, "kubernetes:helm.sh/v3:Chart", "kubernetes:helm.sh/v4:Chart"})
_EXACT = re.compile(r"v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")
_RELEASES = {"bottlerocket": "v1.20.0"}
"""How families of images spell a release; the others by its day (EC2NodeClass definition, alias)."""


def _on_disk(props: Value) -> bool:
    """Whether the SDK hands a chart over as files."""
    return isinstance(props["chart"].raw, (pulumi.Asset, pulumi.Archive))


def chart_name(props: Value) -> str:
    """Return a chart's own name, without the registry, the folder and the version around it; empty for files."""
    if _on_disk(props):
        return ""
    last = props["chart"].text().partition("@")[0].rstrip("/").rpartition("/")[2]
    return re.sub(r"(-v?\d+\.\d+\.\d+.*)?(\.tgz|\.tar\.gz)?$", "", last).partition(":")[0]


def _chart(props: Value, around: Around) -> Iterator[str]:
    if _on_disk(props):
        return
    # Python's Chart of v3 registers itself without what it is made of
    if around.resource.kind != RELEASE and props["chart"].is_missing and props["version"].is_missing:
        return
    chart = props["chart"].text()
    if chart.endswith((".tgz", ".tar.gz")) or chart.startswith((".", "/")) or "@sha256:" in chart:
        return
    if not _EXACT.fullmatch(version := props["version"].text()):
        yield (
            f"chart {chart or 'without a name'} has {f'version {version}' if version else 'no version'}; name one, as"
            " 1.2.3 (a chart on disk: begin its path with ./)"
        )


def _terms(resource: Resource) -> Iterator[Value]:
    terms = resource.props.at("spec", "amiSelectorTerms")
    yield from list(terms.items()) or [terms]


def _ami(term: Value, _: Around) -> Iterator[str]:
    if term.raw in (None, [], {}):
        yield f"{term.path} is empty; name a release, as {{alias: al2023@v20260724}}, or the id of an image"
        return
    family, _at, release = (alias := term["alias"].text()).partition("@")
    if release == "latest" and not family.startswith("windows"):  # of Windows there is no other (its definition)
        hint = f"{family}@{_RELEASES.get(family, 'v20260724')}"
        yield f"{term.path}.alias is {alias}, which moves; name a release, as {hint}"
    if any(sign in (name := term["name"].text()) for sign in "*?"):
        yield f"{term.path}.name is {name}, and the newest image that fits is taken; name one image, or its id"
    parameter = term["ssmParameter"].text()
    if re.search(r"/aws/service/.*/(recommended|latest)(/|$)", parameter):
        yield f"{term.path}.ssmParameter is {parameter}, which moves; name the parameter of a release, or an id"


RULES = (
    Rule(
        id="chart-version",
        says="Charts name one version.",
        why="The next `up` installs another Karpenter than the one that was tried.",
        source="Helm documentation, --version; kubernetes-sigs/karpenter#2785",
        kinds=CHARTS,
        parts=whole,
        check=_chart,
    ),
    Rule(
        id="ami-version",
        says="Nodes name the release of their image.",
        why="With @latest every release of AWS replaces all nodes by drift.",
        source="karpenter-provider-aws#6862, #7731, #6887; aws.md 0.15",
        kinds=frozenset({NODE_CLASS}),
        parts=_terms,
        check=_ami,
    ),
)
