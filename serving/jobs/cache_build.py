"""Building a server's start-up cache: a Job that boots the engine twice and publishes what the second start used.

The Job's template is a CronJob that never runs: it is previewed and admitted like everything else, knows all that the
stack knows, and `kubectl create job --from` is enough to use it. Its identity is the only one that may write the keys.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pulumi
from pulumi_kubernetes.batch.v1 import CronJob
from pulumi_kubernetes.core.v1 import ServiceAccount

from infra.gpu_pools import GpuPool, node_selector
from infra.image_cache.rewrite import ImageCacheFacts, rewritten
from infra.naming import cache_build
from infra.pod_identity import PodIdentity
from serving import programs
from serving.cache_key import CacheKey
from serving.cache_key.server import server_key
from serving.engine import (
    ENTRY_POINT,
    NODE_LIMIT,
    PULL_LIMIT,
    ROOT,
    START_LIMIT,
    STARTUP_SLACK,
)
from serving.front import IMAGE as PROXY_IMAGE
from serving.jobs import Whose, never_by_itself, once
from serving.namespace import ServingNamespace
from serving.pod import CACHE, CONTAINER, Situation, baseline
from serving.pod.template import arguments, engine_container, init_containers, isolated, named, on_gpu_nodes
from serving.programs import PodPrograms
from serving.server import ServerSettings, situation
from serving.server.demand import build_path
from serving.server.server import VllmServer
from serving.techniques import applied
from serving.techniques.cache_restore import CACHE_RESTORE
from serving.techniques.node_cache import PREPARER
from serving.techniques.technique import Provided

PUBLISH_LIMIT = 600
"""Seconds to collect, to scan and to upload some GB."""

DEADLINE = NODE_LIMIT + PULL_LIMIT + 2 * (START_LIMIT + STARTUP_SLACK) + PUBLISH_LIMIT


@dataclass(frozen=True, kw_only=True)
class Build:
    """One cache that may be built."""

    name: str
    """Of its CronJob."""
    about: Situation
    techniques: Sequence[str]
    key: CacheKey


def builds(servers: Mapping[str, ServerSettings], pools: Mapping[str, GpuPool], region: str) -> dict[str, list[Build]]:
    """Return, by server that restores a cache, what may be built: for it as it is, then for its candidate."""
    found: dict[str, list[Build]] = {}
    for name, server in servers.items():
        if CACHE_RESTORE.name in server.chosen:
            found[name] = [_build(cache_build(name), server, pools[server.pool], region)]
            if server.promoted:
                candidate = cache_build(name, candidate=True)
                found[name].append(_build(candidate, server.promoted, pools[server.pool], region))
    return found


def folders(builds: Sequence[Build]) -> list[str]:
    """Return every key prefix that the builds of one server write to, each once."""
    return sorted({prefix for build in builds for prefix in build.key.prefixes})


def _build(name: str, server: ServerSettings, pool: GpuPool, region: str) -> Build:
    about = situation(server, pool, region)
    return Build(name=name, about=about, techniques=server.chosen, key=server_key(about, server.chosen))


def pod_spec(
    build: Build,
    provided: Provided,
    *,
    image: str,
    claim: pulumi.Input[str] | None,
    priority: pulumi.Input[str],
    service_account: pulumi.Input[str],
    selector: Mapping[str, str],
) -> Any:
    """Return the spec of the Job's pod: the server's engine container, alone and without traffic.

    Args:
        build: what is built.
        provided: as for the server, with the programs of a build.
        image: the engine's, as nodes pull it.
        claim: of the volume that shows the model's folder, if there is one.
        priority: name of a priority class.
        service_account: the publisher's.
        selector: of the pool's nodes.
    """
    about = build.about
    served = applied(baseline(about, claim), build.techniques, about, provided)
    # What a serving pod wrote on its node is never published: the Job has a folder of its own, at the same path, and
    # nobody prepares it. What else runs before the engine (a copy of the weights, which no engine may write) it needs.
    pod = replace(
        served,
        volumes={**served.volumes, CACHE: {"emptyDir": {}}},
        mounts={**served.mounts, CACHE: {"mountPath": ROOT}},
        before={name: container for name, container in served.before.items() if name != PREPARER},
        sidecars={},
    )
    return {
        "restartPolicy": "Never",
        **isolated(service_account, about.engine.user),
        **on_gpu_nodes(selector, priority),
        **init_containers(pod, image),
        "containers": [
            {
                **engine_container(pod, about, image),
                "command": ["python3", "-B", programs.path("build")],
                "args": [
                    pulumi.Output.concat("--bucket=", provided.bucket),
                    *build.key.arguments,
                    f"--engine-version={about.engine.version}",
                    f"--port={served.flags['port']}",
                    f"--limit={START_LIMIT + STARTUP_SLACK}",
                    "--",
                    *ENTRY_POINT,
                    *arguments(pod, about),
                ],
            }
        ],
        # those of sidecars are not for it
        "volumes": named({name: source for name, source in pod.volumes.items() if name in pod.mounts}),
    }


@dataclass(frozen=True, kw_only=True)
class CacheBuildArgs:
    """What the server has too, and who publishes."""

    server: str
    builds: Sequence[Build]
    pool: str
    """Name of the server's pool."""
    images: ImageCacheFacts
    bucket: pulumi.Input[str]
    namespace: ServingNamespace
    whose: Whose
    publisher: PodIdentity
    served: VllmServer
    programs: PodPrograms
    priority: pulumi.Input[str]
    no_room: str = ""
    """Why the Job finds no GPU while all servers run; empty when it finds one."""


class CacheBuild(pulumi.ComponentResource):
    """The Job templates of one server, and who its Jobs run as."""

    jobs: list[pulumi.Output[str]]
    """Names of the CronJobs."""

    def __init__(self, name: str, args: CacheBuildArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:serving:CacheBuild", name, None, opts)
        if args.no_room:
            pulumi.log.warn(f"{build_path(args.server)}: {args.no_room}", self)
        namespace = args.publisher.namespace
        child = pulumi.ResourceOptions(parent=self, depends_on=[args.namespace])
        labels = {"app.kubernetes.io/name": "cache-build", "app.kubernetes.io/instance": args.server}
        account = ServiceAccount(
            f"{name}-publisher",
            metadata={"name": args.publisher.service_account, "namespace": namespace, "labels": labels},
            automount_service_account_token=False,
            opts=child,
        )
        made = [
            CronJob(
                f"{name}{build.name.removeprefix(args.server)}",
                metadata={
                    "name": build.name,
                    "namespace": namespace,
                    "labels": labels,
                    "annotations": args.whose.annotations,
                },
                spec=never_by_itself(
                    once(
                        pod_spec(
                            build,
                            Provided(
                                server=args.server,
                                bucket=args.bucket,
                                programs=args.programs.build,
                                key=build.key,
                                proxy_image=rewritten(PROXY_IMAGE, args.images),
                                front_programs=args.programs.front,
                                tokens=None,
                            ),
                            image=rewritten(build.about.engine.image_reference, args.images),
                            claim=args.served.claim,
                            priority=args.priority,
                            service_account=account.metadata.name,
                            selector=node_selector(args.pool, build.about.pool),
                        ),
                        labels=labels,
                        container=CONTAINER,
                        deadline=DEADLINE,
                        attempts=2,
                    )
                ),
                opts=child,
            )
            for build in args.builds
        ]
        self.jobs = [job.metadata.name for job in made]
        self.register_outputs({"jobs": self.jobs})
