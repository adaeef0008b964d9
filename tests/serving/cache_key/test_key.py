"""The key of a server's cache: what it looks like, and which settings move it."""

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import combinations
from typing import Any

import pytest

import manifest
from infra.model_bucket import MODELS
from infra.section import Section
from serving.cache_key import BASE, CACHES, CacheKey, KeyedServer, cache_key, difference, explained
from serving.pod import Pod, baseline
from serving.server import ServerSettings
from serving.techniques import TECHNIQUES, applied
from tests.serving.cache_key.servers import exact, on, print_of, server, with_env
from tests.serving.situations import provided, situation

PARTS = [part.name for part in fields(CacheKey)]
DIGEST = f"sha256:{'0' * 64}"

MOVES: dict[str, tuple[Any, bool]] = {
    "pool": ("another", False),
    "model.uri": ("s3://vllm-eks-prod-models-000000000000/models/gemma-4-31b-it-nvfp4/r2/", True),
    "model.servedName": ("another", False),
    "model.sizeGib": (31, False),
    "model.maxContext": (262144, False),
    "model.kv": ({"layers": 60, "kvHeads": 16, "headDim": 256}, False),
    "engine.version": ("0.33.0", True),
    "engine.image": ("registry.example/vllm:v1", True),
    "engine.maxModelLen": (4096, True),
    "engine.maxNumBatchedTokens": (4096, True),
    "engine.maxNumSeqs": (128, True),
    "engine.gpuMemoryUtilization": (0.85, True),
    "engine.tensorParallel": (2, True),
    "engine.args": ({"kv-cache-dtype": "fp8"}, True),
    "engine.user": (2000, True),
    "candidate": ({"version": "0.33.0", "args": {}}, False),
    "model.auxiliaryFiles": (True, False),
    "preset": ("step-1", True),
    "techniques": ([], True),
    "replicas": (2, False),
    "front.maxBodyMib": (10, False),
    "front.bodySeconds": (10, False),
    "front.readSeconds": (60, False),
    "front.sendSeconds": (10, False),
    "front.connections": (512, False),
    "sleep.wake": ("external", False),
    "sleep.idleSeconds": (60, False),
    "sleep.holdSeconds": (10, False),
    "sleep.drainSeconds": (10, False),
    "idle": ({"schedule": {"stop": "0 20 * * *", "start": "0 8 * * *", "timeZone": "UTC"}}, False),
    "rollout": ("surge", False),
    "resources.cpu": (5, False),
    "resources.memoryGib": (40, False),
    "shutdown.drainSeconds": (10, False),
    "shutdown.requestSeconds": (30, False),
}
"""For each setting of a server: another value, and whether the fingerprint moves."""


def leaves(section: type[Section], above: str = "") -> Iterator[str]:
    for name, field in section.model_fields.items():
        path = f"{above}{field.alias or name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from leaves(field.annotation, f"{path}.")
        else:
            yield path


def test_of_every_setting_it_is_decided_whether_it_moves_the_fingerprint() -> None:
    """A new one that reaches the engine in a new way would else share caches with what it is not."""
    assert sorted(MOVES) == sorted(leaves(ServerSettings))


@pytest.mark.parametrize(("path", "value", "moves"), [(path, *rest) for path, rest in MOVES.items()], ids=list(MOVES))
def test_the_fingerprint_moves_with_exactly_the_settings_that_are_not_neutral(
    path: str, value: Any, moves: bool
) -> None:
    section, _, key = path.partition(".")
    changed = server(**{section: {key: value} if key else value})
    assert (print_of(changed) != print_of(server())) is moves


def test_of_every_part_of_a_pod_it_is_decided_whether_it_is_in_the_key() -> None:
    """Where things are mounted is not (the cache's own place follows from the key), nor what runs around the engine."""
    around = {
        "volumes",
        "mounts",
        "files",
        "parent",
        "before",
        "sidecars",
        "before_stop",
        "labels",
        "selected",
        "walled",
    }
    probes = {"started", "serving", "alive", "period"}
    assert {part.name for part in fields(Pod)} - around - probes == {"model", "flags", "env"}


def test_nothing_that_counts_for_the_key_is_made_from_it() -> None:
    about = situation()
    one, other = (
        applied(
            baseline(about, "claim"), list(TECHNIQUES), about, provided(name, CacheKey(**dict.fromkeys(PARTS, name)))
        )
        for name in ("one", "other")
    )
    assert (one.flags, one.env) == (other.flags, other.env)
    assert one.mounts != other.mounts


def test_a_key_has_the_form_that_every_other_module_relies_on() -> None:
    key = cache_key(server())
    assert (key.folder, key.exact, key.base) == (
        "vllm-cache/docker.io_svllm_svllm-openai_cv0.26.0/rtx-pro-server-6000/gemma-4-31b-it-nvfp4_sr1/",
        f"{key.folder}{key.fingerprint}/",
        f"{key.folder}base/",
    )
    assert key.prefixes == (key.exact, key.base)
    assert len(key.fingerprint) == 32
    assert int(key.fingerprint, 16)


def test_the_key_is_the_one_that_the_programs_in_pods_make_of_its_parts() -> None:
    key = cache_key(server())
    folder = manifest.Folder(key.engine, key.gpu, key.model, key.fingerprint)
    assert (folder.prefix, folder.base.prefix) == key.prefixes
    assert manifest.BASE == BASE


def test_no_cache_lies_below_a_model() -> None:
    """The loader pulls a model's folder recursively, as tokenizer files (vllm.md A14)."""
    assert not CACHES.startswith(MODELS)
    assert not MODELS.startswith(CACHES)


def test_the_key_names_the_upstream_image_whatever_cache_nodes_pull_it_through() -> None:
    spelled = [f"{host}vllm/vllm-openai:v0.26.0" for host in ("", "docker.io/", "index.docker.io/")]
    assert {exact(server(engine={"image": image})) for image in spelled} == {exact(server())}


def test_an_image_by_digest_is_named_by_it_alone() -> None:
    """A runtime ignores the tag beside a digest."""
    images = [f"vllm/vllm-openai{tag}@{DIGEST}" for tag in ("", ":v0.26.0")]
    assert {cache_key(server(engine={"image": image})).engine for image in images} == {
        f"docker.io_svllm_svllm-openai_asha256_c{'0' * 64}"
    }
    assert len({exact(server(engine={"image": image})) for image in images}) == 1


def test_the_base_is_shared_by_servers_that_differ_in_flags_and_buckets_only() -> None:
    other = "s3://another-bucket/models/gemma-4-31b-it-nvfp4/r1/"
    servers = [server(), server(techniques=[]), server(model={"uri": other}), server(args={"enforce-eager": True})]
    assert len({cache_key(one).base for one in servers}) == 1
    assert len({exact(one) for one in servers}) == len(servers)


IMAGE = {"image": "registry.example/vllm:v1"}


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        (server(engine=IMAGE), server(engine={**IMAGE, "version": "0.33.0"}), ["engine.version"]),
        (server(engine=IMAGE), server(), ["engine.image"]),
        (on("a10g"), on("l4"), ["gpu.product"]),
        (server(), server(engine={"tensorParallel": 2}), ["gpu.count", "flag.tensor-parallel-size"]),
        (server(), replace(server(), argument="/models"), ["model.argument"]),
        (
            server(techniques=[]),
            server(techniques=[], model={"uri": "s3://vllm-eks-prod-models-000000000000/models/another/r1/"}),
            ["model.uri"],
        ),
        (
            server(techniques=[]),
            server(techniques=[], model={"uri": "s3://another-bucket/models/gemma-4-31b-it-nvfp4/r1/"}),
            ["model.uri"],
        ),
    ],
)
def test_each_fact_moves_the_fingerprint_alone(before: KeyedServer, after: KeyedServer, moved: list[str]) -> None:
    assert list(difference(explained(before), explained(after))) == moved
    assert print_of(before) != print_of(after)


def test_a_pool_of_other_sizes_of_the_same_card_has_the_same_key() -> None:
    assert exact(server(nodes={"instanceTypes": ["g7e.4xlarge"]})) == exact(server())


def test_two_cards_of_one_product_have_two_fingerprints() -> None:
    """a100 is 40 GB in p4d and 80 GB in p4de: two names in CUDA, which torch compares."""
    small, large = (
        server(nodes={"product": "a100", "instanceTypes": [kind], "maxGpus": 8})
        for kind in ("p4d.24xlarge", "p4de.24xlarge")
    )
    assert list(difference(explained(small), explained(large))) == ["gpu.memoryMib"]


def test_nothing_of_a_pool_but_its_card_is_in_the_key() -> None:
    other = {"capacity": "on-demand", "maxGpus": 2, "techniques": [], "consolidateAfter": "1h", "rootVolumeGib": 60}
    assert exact(server(nodes=other)) == exact(server())


def test_the_region_of_the_stack_is_not_in_the_key() -> None:
    assert exact(server(region="eu-west-1")) == exact(server())


def test_VLM_06_every_change_of_what_is_compiled_for_has_its_own_prefix() -> None:
    """A compile cache of one GPU generation, loaded on another, crashed in a restart loop (club-3090#572)."""
    speculation = {"method": "ngram", "prompt_lookup_max": 4}
    servers = [
        on("a10g"),
        on("l40s"),
        on("h100"),
        server(engine={"image": "vllm/vllm-openai:v0.18.0"}),
        server(engine={"image": "vllm/vllm-openai:v0.18.1"}),
        server(engine={"image": f"vllm/vllm-openai@{DIGEST}"}),
        server(engine={"version": "0.33.0"}),
        server(engine={"tensorParallel": 1}),
        server(engine={"tensorParallel": 2}),
        server(args={"speculative-config": {**speculation, "num_speculative_tokens": 3}}),
        server(args={"speculative-config": {**speculation, "num_speculative_tokens": 5}}),
        server(model={"uri": "s3://vllm-eks-prod-models-000000000000/models/gemma-4-31b-it-nvfp4/r2/"}),
        server(model={"uri": "s3://vllm-eks-prod-models-000000000000/models/gemma-4-31b/r1/"}),
    ]
    # the folder on a node is named by the fingerprint alone
    assert len({print_of(one) for one in servers}) == len(servers)
    for one, other in combinations([exact(of) for of in servers], 2):
        assert not one.startswith(other)
        assert not other.startswith(one)


@pytest.mark.parametrize("what", ["gpu", "engine", "model"])
def test_VLM_06_no_name_that_begins_another_falls_into_its_key(what: str) -> None:
    """`NVIDIA A10` is how `NVIDIA A10G` begins."""
    begins = {"gpu": ("a10", "a10g"), "engine": ("v_c1", "v_c1.1"), "model": ("gemma_sr1", "gemma_sr11")}[what]
    parts = {"engine": "e", "gpu": "g", "model": "m", "fingerprint": "0" * 32}
    short, long = (CacheKey(**{**parts, what: name}) for name in begins)
    assert not [one for one in long.prefixes if one.startswith((*short.prefixes, short.folder))]


@pytest.mark.parametrize(
    "name",
    [
        "HOME",
        "HF_HOME",
        "VLLM_CACHE_ROOT",
        "TORCHINDUCTOR_CACHE_DIR",
        "TRITON_CACHE_DIR",
        "XDG_CACHE_HOME",
        "FLASHINFER_WORKSPACE_BASE",
        "CUDA_CACHE_PATH",
        "PYTHONPYCACHEPREFIX",
    ],
)
def test_VLM_05_a_cache_written_in_another_place_is_never_this_servers(name: str) -> None:
    """Caches hold absolute paths: restored elsewhere, one does not miss but kills the server (gpu.md 0.1)."""
    here, there = with_env(server(), **{name: "/vllm-cache/x"}), with_env(server(), **{name: "/root/x"})
    assert len({print_of(server()), print_of(here), print_of(there)}) == 3


def test_an_explanation_is_in_the_order_in_which_people_read_it() -> None:
    facts = explained(server())
    assert list(facts)[:8] == [
        "engine.image",
        "engine.version",
        "engine.user",
        "gpu.product",
        "gpu.memoryMib",
        "gpu.count",
        "model.uri",
        "model.argument",
    ]
    rest = [name.partition(".")[0] for name in list(facts)[8:]]
    assert rest == sorted(rest, reverse=True)


def test_a_difference_names_what_moved_and_both_values() -> None:
    before, after = explained(server()), explained(server(engine={"maxNumSeqs": 128}, args={"enforce-eager": True}))
    assert difference(before, after) == {"flag.max-num-seqs": (256, 128), "flag.enforce-eager": (None, True)}
    assert difference(after, before) == {"flag.max-num-seqs": (128, 256), "flag.enforce-eager": (True, None)}


def test_there_is_a_difference_exactly_when_the_fingerprints_differ() -> None:
    """For Python true, 1 and 1.0 are equal; for the engine they are not."""
    servers = [server(args={"additional-config": {"x": value}}) for value in (True, 1, 1.0, "1")]
    for one, other in combinations(servers, 2):
        assert list(difference(explained(one), explained(other))) == ["flag.additional-config"]
        assert print_of(one) != print_of(other)
    assert difference(explained(servers[0]), explained(servers[0])) == {}
