"""Update or replace, as pulumi-kubernetes decides it (`Diff` in `provider/pkg/provider/provider.go`)."""

from __future__ import annotations

from rehearsal.providers.change.compare import by_index, without
from rehearsal.providers.change.paths import parse
from rehearsal.providers.change.verdict import Verdict, details, replacing
from rehearsal.providers.kubernetes import charts
from rehearsal.providers.kubernetes.objects import OBJECTS, Object
from rehearsal.providers.outputs import as_given
from rehearsal.providers.package import Comparison, Kind
from rehearsal.providers.values import Properties, reveal

AUTONAMED = "pulumi.com/autonamed"
"""The annotation of an object whose name the provider chose."""


def diff(_kind: Kind, comparison: Comparison) -> Verdict:
    """What a change means for an object or a Helm release.

    Compared is what is there, without what the cluster added to it, with the new inputs.
    """
    live = as_given(reveal(comparison.outputs), reveal(comparison.olds))
    news = reveal(comparison.news)
    release = comparison.token == charts.RELEASE
    forcing = charts.FORCING if release else _forcing(OBJECTS[comparison.token], news, comparison.instance.config)
    changes = without(by_index(live, news), [parse(path) for path in comparison.ignored])
    found = details(changes, [parse(path) for path in forcing])
    replaces = replacing(found)
    return Verdict(
        details=found, replaces=replaces, delete_first=bool(replaces) and _same_name_by_the_program(live, news)
    )


def _forcing(kind: Object, news: Properties, config: Properties) -> tuple[str, ...]:
    # Provider arguments arrive as text.
    mutable = str(config.get(kind.mutable_by)).lower() == "true" and news.get("immutable") is not True
    return ("metadata.name", "metadata.namespace", *kind.replaces, *(() if mutable else kind.contents))


def _same_name_by_the_program(live: Properties, news: Properties) -> bool:
    old, new = (_metadata(it) for it in (live, news))
    if new.get("name") is None or AUTONAMED in (new.get("annotations") or {}):
        return False
    return all(old.get(key) == new.get(key) for key in ("name", "namespace"))


def _metadata(properties: Properties) -> Properties:
    metadata = properties.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
