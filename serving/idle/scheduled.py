"""Stopping and starting a server by the clock: two CronJobs that set the scale of its Deployment, and who they run as.

A stop drains as a rollout does: the pod that goes has its grace period, with the same hooks.
"""

from dataclasses import dataclass
from typing import Any, Literal

import pulumi
from pulumi_kubernetes.batch.v1 import CronJob
from pulumi_kubernetes.core.v1 import ServiceAccount
from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict, Role, RoleBinding

from infra.image_cache.rewrite import ImageCacheFacts, rewritten
from infra.naming import idle_job, scaler_service_account
from serving.idle import DEADLINE, ScheduleSettings, catch_up
from serving.jobs import Whose, on_schedule, once
from serving.jobs.small import IMAGE, SmallPod, small_pod
from serving.namespace import ServingNamespace
from serving.pod import Manifest
from serving.programs import PodPrograms
from serving.server.server import VllmServer

CONTAINER = "scale"
ATTEMPTS = 5
"""After the first one, each of some minutes: all that fit into the deadline."""

LOG_DAYS = 7
"""A night that went wrong on Friday is looked at on Monday."""

CREDENTIALS = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where every client of the API looks for them."""

TOKEN_SECONDS = 3600
"""Longer than a Job takes; of less than 600 the API server makes 600."""

AUTHORITY = "kube-root-ca.crt"
"""ConfigMap with the cluster's authority, which the controller manager keeps in every namespace."""


def rules(server: str) -> list[PolicyRuleArgsDict]:
    """Return what the Jobs of a server may do: read and set the scale of its Deployment."""
    return [
        {
            "api_groups": ["apps"],
            "resources": ["deployments/scale"],
            "resource_names": [server],
            "verbs": ["get", "patch"],
        }
    ]


def pod_spec(
    *,
    server: str,
    replicas: int,
    image: str,
    namespace: pulumi.Input[str],
    service_account: pulumi.Input[str],
    config_map: pulumi.Input[str],
) -> Manifest:
    """Return the spec of the pod that sets a server's number of pods.

    Args:
        server: name of its Deployment.
        replicas: the number; 0 stops it.
        image: as nodes pull it.
        namespace: of all of them.
        service_account: with the rights of `rules`.
        config_map: of the program.
    """
    projected = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": TOKEN_SECONDS}},
        {"configMap": {"name": AUTHORITY, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    ]
    return small_pod(
        SmallPod(
            container=CONTAINER,
            image=image,
            program="scale",
            config_map=config_map,
            service_account=service_account,
            args=[
                pulumi.Output.concat("--namespace=", namespace),
                f"--deployment={server}",
                f"--replicas={replicas}",
                f"--credentials={CREDENTIALS}",
            ],
            resources={
                # the interpreter with TLS, and two requests
                "requests": {"cpu": "10m", "memory": "32Mi", "ephemeral-storage": "8Mi"},
                "limits": {"memory": "96Mi", "ephemeral-storage": "32Mi"},
            },
            volumes={"credentials": {"projected": {"sources": projected}}},
            mounts={"credentials": {"mountPath": CREDENTIALS, "readOnly": True}},
        )
    )


def cron_job(pod: Manifest, schedule: ScheduleSettings, what: Literal["stop", "start"], labels: dict[str, str]) -> Any:
    """Return the spec of the CronJob that stops or starts with this pod."""
    when, until = (schedule.stop, schedule.asleep) if what == "stop" else (schedule.start, schedule.awake)
    job = once(pod, labels=labels, container=CONTAINER, deadline=DEADLINE, attempts=ATTEMPTS)
    return on_schedule(
        {**job, "ttlSecondsAfterFinished": LOG_DAYS * 24 * 3600},
        schedule=when,
        time_zone=schedule.time_zone,
        catch_up=catch_up(until),
    )


@dataclass(frozen=True, kw_only=True)
class ScheduledIdleArgs:
    """Which server, and when."""

    server: str
    schedule: ScheduleSettings
    replicas: int
    """What a start brings back."""
    namespace: ServingNamespace
    whose: Whose
    images: ImageCacheFacts
    programs: PodPrograms
    served: VllmServer
    """Whole: Jobs come after the Deployment that they scale, and go before it."""


class ScheduledIdle(pulumi.ComponentResource):
    """The two CronJobs of one server."""

    stop: pulumi.Output[str]
    """Name of the CronJob; also by hand: `kubectl create job --from=cronjob/<name> <job>`."""
    start: pulumi.Output[str]

    def __init__(self, name: str, args: ScheduledIdleArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:serving:ScheduledIdle", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=[args.namespace, args.served])
        labels = {"app.kubernetes.io/name": "idle", "app.kubernetes.io/instance": args.server}
        where = {"namespace": args.namespace.name, "labels": labels}
        mine = {"name": scaler_service_account(args.server), **where}

        account = ServiceAccount(f"{name}-scaler", metadata=mine, automount_service_account_token=False, opts=child)
        role = Role(f"{name}-scaler", metadata=mine, rules=rules(args.server), opts=child)
        binding = RoleBinding(
            f"{name}-scaler",
            metadata=mine,
            role_ref={"api_group": "rbac.authorization.k8s.io", "kind": "Role", "name": role.metadata.name},
            subjects=[
                {"kind": "ServiceAccount", "name": account.metadata.name, "namespace": account.metadata.namespace}
            ],
            opts=child,
        )

        def job(what: Literal["stop", "start"], replicas: int) -> pulumi.Output[str]:
            pod = pod_spec(
                server=args.server,
                replicas=replicas,
                image=rewritten(IMAGE, args.images),
                namespace=args.namespace.name,
                service_account=account.metadata.name,
                config_map=args.programs.scale,
            )
            made = CronJob(
                f"{name}-{what}",
                metadata={"name": idle_job(args.server, what), "annotations": args.whose.annotations, **where},
                spec=cron_job(pod, args.schedule, what, labels),
                # a Job without its rights would be refused, and that is final
                opts=pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[binding])),
            )
            return made.metadata.name

        self.stop, self.start = job("stop", 0), job("start", args.replicas)
        self.register_outputs({"stop": self.stop, "start": self.start})
