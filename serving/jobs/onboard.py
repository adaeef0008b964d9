"""Copying a model from Hugging Face into the bucket: the template of its Jobs, and who they run as.

They run on a system node: the network is the work, and a GPU node would cost more than the copy.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.batch.v1 import CronJob
from pulumi_kubernetes.core.v1 import Secret, ServiceAccount

from infra.image_cache.rewrite import ImageCacheFacts, rewritten
from infra.naming import ONBOARDING, shortened
from infra.pod_identity import PodIdentity
from infra.section import Complaint, secret_text
from serving.jobs import Whose, never_by_itself, once
from serving.jobs.small import IMAGE, SmallPod, small_pod
from serving.model import ModelUri
from serving.namespace import ServingNamespace
from serving.pod import Manifest
from serving.programs import PodPrograms

CONTAINER = "weights"
JOB_NAME_LIMIT = 63

TOKEN = "huggingFaceToken"  # noqa: S105 - the name of the configuration key
TOKEN_SECRET = "hugging-face-token"  # noqa: S105 - the Secret's name
TOKEN_KEY = "token"  # noqa: S105 - the key's name in the Secret

DEADLINE = 6 * 3600
"""Seconds: 2 TB at 100 MB/s."""

ATTEMPTS = 6
"""A lost node, a silent hub: each attempt keeps what the ones before it have stored."""


@dataclass(frozen=True, kw_only=True)
class Onboarding:
    """What is copied where."""

    repository: str
    commit: str
    uri: ModelUri
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    allow_pickle: bool = False

    @property
    def job_name(self) -> str:
        """One name for one folder: Kubernetes refuses a second Job that would write into it."""
        digest = hashlib.sha256(str(self.uri).encode()).hexdigest()[:8]
        model = re.sub(r"[^a-z0-9]+", "-", self.uri.prefix.split("/")[1].lower())
        return f"{shortened(f'onboard-{model}', JOB_NAME_LIMIT - len(digest) - 1)}-{digest}"

    @property
    def arguments(self) -> list[str]:
        """The program's command line. `--x=y`, so that no value is taken for an option."""
        return [
            f"--repository={self.repository}",
            f"--revision={self.commit}",
            f"--to={self.uri}",
            *(f"--include={glob}" for glob in self.include),
            *(f"--exclude={glob}" for glob in self.exclude),
            *(["--allow-pickle"] if self.allow_pickle else []),
        ]


def hugging_face_token(config: pulumi.Config) -> tuple[pulumi.Output[str] | None, list[Complaint]]:
    """Return the token that opens gated repositories, None when the stack has none, and what is wrong with it.

    Args:
        config: of the project.
    """
    text, wrong = secret_text(config, TOKEN)
    if text is None:
        return None, wrong
    if not re.fullmatch(r"[!-~]+", text.strip()):
        problem = "not a token; expected the text that Hugging Face shows, such as hf_..."
        return None, [Complaint((config.full_key(TOKEN),), problem)]
    return pulumi.Output.secret(text.strip()), []


def pod_spec(
    *,
    image: str,
    region: str,
    service_account: pulumi.Input[str],
    config_map: pulumi.Input[str],
    token_secret: pulumi.Input[str] | None,
) -> Manifest:
    """Return the spec of the Job's pod, without the arguments that say what is copied where.

    Args:
        image: as nodes pull it.
        region: of the bucket and the cluster.
        service_account: the onboarding identity's.
        config_map: of the programs.
        token_secret: name of a Secret whose key `token` opens gated repositories.
    """
    token = {"secretKeyRef": {"name": token_secret, "key": TOKEN_KEY}}
    return small_pod(
        SmallPod(
            container=CONTAINER,
            image=image,
            program="onboard",
            config_map=config_map,
            service_account=service_account,
            env=[
                {"name": "AWS_REGION", "value": region},
                *([{"name": "HF_TOKEN", "valueFrom": token}] if token_secret is not None else []),
            ],
            resources={
                # memory: 20 parts of 16 MiB, the interpreter and 16 connections; disk: the log, and nothing else
                # cpu: what two small system nodes have left beside Karpenter; without a limit it takes what is free
                "requests": {"cpu": "250m", "memory": "512Mi", "ephemeral-storage": "64Mi"},
                "limits": {"memory": "768Mi", "ephemeral-storage": "128Mi"},
            },
        )
    )


@dataclass(frozen=True, kw_only=True)
class WeightsOnboardingArgs:
    """Who copies, and with what."""

    identity: PodIdentity
    namespace: ServingNamespace
    whose: Whose
    region: str
    images: ImageCacheFacts
    programs: PodPrograms
    token: pulumi.Output[str] | None
    """Of Hugging Face, for gated models: a secret."""


class WeightsOnboarding(pulumi.ComponentResource):
    """The template of the Jobs that bring weights, and what they may use."""

    job: pulumi.Output[str]
    """Name of the CronJob."""

    def __init__(self, name: str, args: WeightsOnboardingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:serving:WeightsOnboarding", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=[args.namespace])
        labels = {"app.kubernetes.io/name": "weights", "app.kubernetes.io/component": "onboarding"}
        where = {"namespace": args.identity.namespace, "labels": labels}

        account = ServiceAccount(
            name,
            metadata={"name": args.identity.service_account, **where},
            automount_service_account_token=False,
            opts=child,
        )
        token = (
            # by a fixed name: Jobs that are running find a token that was renewed
            Secret(
                f"{name}-token",
                metadata={"name": TOKEN_SECRET, **where},
                string_data={TOKEN_KEY: args.token},
                opts=child,
            )
            if args.token is not None
            else None
        )
        template = CronJob(
            name,
            metadata={"name": ONBOARDING, "annotations": args.whose.annotations, **where},
            spec=never_by_itself(
                once(
                    pod_spec(
                        image=rewritten(IMAGE, args.images),
                        region=args.region,
                        service_account=account.metadata.name,
                        config_map=args.programs.weights,
                        token_secret=token.metadata.name if token is not None else None,
                    ),
                    labels=labels,
                    container=CONTAINER,
                    deadline=DEADLINE,
                    attempts=ATTEMPTS,
                )
            ),
            opts=child,
        )
        self.job = template.metadata.name
        self.register_outputs({"job": self.job})
