"""The tables of docs/releases.md: which change of a stack file needs another start-up cache.

Each is computed: the toggles of tests/stack/toggles change every key of the stack file once, and the server's key and
pod template are made before and after.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import ValidationError

from infra.gpu_pools import GpuPool, node_selector
from serving.cache_key import CacheKey, KeyedServer, cache_key, difference, explained
from serving.cache_key.neutral import NEUTRAL
from serving.cache_key.server import keyed
from serving.engine import CandidateSettings
from serving.pod import Situation, baseline
from serving.server import ServerSettings, situation
from serving.server.demand import booting
from serving.techniques import TECHNIQUES, applied, refusals
from tests.docs.tables.part import table
from tests.harness import REGION, stack_settings
from tests.serving.ladder.rendered import flat, plain
from tests.serving.situations import provided, templated
from tests.stack.toggles import TOGGLES, Toggle

SERVER, POOL = "servers.gemma.", "gpuPools.rtx-pro-6000."

WHOLE = frozenset({"engine", "model", "resources", "shutdown"})
"""Sections whose keys are told apart."""

KINDS = {
    "another cache": "the key moves and the base archive is another one: everything is compiled",
    "another fingerprint": "the key moves, the base archive fits: torch.compile alone runs again",
    "the same, pods restart": "the key stays: the new pods find their cache",
    "the same, nothing restarts": "neither key nor pod template changes",
}


def changes() -> str:
    """Return the keys of servers and pools by what their change does to the cache."""
    found = kinds()
    rows = [
        [
            f"**{kind}**",
            KINDS[kind],
            ", ".join(f"`{key}`{' (c)' if can_be_candidate(key) else ''}" for key in sorted(found[kind])),
        ]
        for kind in KINDS
    ]
    return table(["cache", "what that means", "keys of the stack file"], rows)


@cache
def kinds() -> dict[str, frozenset[str]]:
    """Return the changed keys by kind. A key whose values differ in that is in several."""
    seen = {(kind_of(toggle), shown(toggle.path)) for toggle in toggles() if shown(toggle.path) not in BY_TECHNIQUE}
    return {kind: frozenset(key for its, key in seen if its == kind) for kind in KINDS}


BY_TECHNIQUE = frozenset({"preset", "techniques", "gpuPools: techniques"})
"""Keys whose values are a table of their own."""


def techniques() -> str:
    """Return what each technique puts into the key, on the dev stack's server."""
    rows = [
        [f"`{name}`", ", ".join(f"`{it}`" for it in moved(name)) or "nothing: the key stays"] for name in TECHNIQUES
    ]
    return table(["technique", "facts that it moves"], rows)


def neutral() -> str:
    """Return the facts that no fingerprint covers, by engine version."""
    rows = [
        [f"`{fact}`", why, ", ".join(version for version in NEUTRAL if fact in NEUTRAL[version])]
        for fact, why in dict(pair for facts in NEUTRAL.values() for pair in facts.items()).items()
    ]
    return table(["fact", "why", "on"], rows)


def facts() -> str:
    """Return every fact of the dev stack's server, as `ops cache key` prints them."""
    found = explained(_side(stack_settings("dev")).keyed)
    by: dict[str, list[str]] = {}
    for fact in found:
        kind, _, name = fact.partition(".")
        by.setdefault(kind, []).append(f"`{name}`")
    return table(["kind", "facts"], [[f"`{kind}.`", ", ".join(names)] for kind, names in by.items()])


def toggles() -> Iterator[Toggle]:
    """Yield the changes of the dev stack's server and pool that are not refused, each key's first one."""
    for toggle in TOGGLES:
        its = toggle.stack == "dev" and toggle.path.startswith((SERVER, POOL)) and toggle.refused is None
        if its and toggle.value is not ...:
            yield toggle


def shown(path: str) -> str:
    """Return the key as people write it: `engine.maxNumSeqs`, `front`; of a pool `gpuPools: ami`."""
    if path.startswith(POOL):
        return f"gpuPools: {path.removeprefix(POOL).partition('.')[0]}"
    section, _, name = path.removeprefix(SERVER).partition(".")
    return f"{section}.{name.partition('.')[0]}" if section in WHOLE else section


def can_be_candidate(key: str) -> bool:
    """Whether a candidate can hold the change, so that its cache is built before the rollout."""
    return key in {f"engine.{field.alias or name}" for name, field in CandidateSettings.model_fields.items()}


def kind_of(toggle: Toggle) -> str:
    """Return which of `KINDS` a change is."""
    after = _side(toggle.settings())
    try:
        before = _side(toggle.settings_without())
    except ValidationError:  # what changes with it cannot stand without it
        before = _side(stack_settings("dev"))
    if before.key.base != after.key.base:
        return "another cache"
    if before.key.exact != after.key.exact:
        return "another fingerprint"
    return "the same, nothing restarts" if before.pod == after.pod else "the same, pods restart"


def moved(name: str) -> list[str]:
    """Return the facts that differ with and without a technique, beside what it needs."""
    about = _side(stack_settings("dev")).about
    others = _needed(name)
    assert not [it for it in refusals([*others, name], about) if "not together" in it]
    before, after = (explained(keyed(about, names)) for names in (others, (*others, name)))
    return list(difference(before, after))


class _Side:
    """A server of one stack file."""

    def __init__(self, settings: ServerSettings, pool: GpuPool) -> None:
        self.about: Situation = situation(settings, pool, REGION)
        self.keyed: KeyedServer = keyed(self.about, settings.chosen)
        self.key: CacheKey = cache_key(self.keyed)
        pod = applied(baseline(self.about, "claim"), settings.chosen, self.about, provided(key=self.key))
        template = templated(
            pod,
            self.about,
            image=settings.engine.image_reference,
            node_selector=node_selector(settings.pool, pool),
        )
        self.pod: dict[str, Any] = dict(flat(plain(template)))


def _side(raw: dict[str, Any]) -> _Side:
    settings = {name: ServerSettings.model_validate(it) for name, it in raw["servers"].items()}
    its = settings["gemma"]
    return _Side(its, booting(its.pool, GpuPool.model_validate(raw["gpuPools"][its.pool]), settings))


@cache
def _needed(name: str) -> tuple[str, ...]:
    needs = TECHNIQUES[name].needs
    return tuple(dict.fromkeys(it for need in needs for it in (*_needed(need), need)))
