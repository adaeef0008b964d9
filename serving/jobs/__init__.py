"""Job templates: what all Jobs of the stack share, and the CronJob that only holds one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.naming import ACCOUNT_ANNOTATION, CLUSTER_ANNOTATION
from serving.pod import Manifest

FAILED_CHECK, USAGE = 1, 2
"""Exit codes of the programs that another attempt would not change."""

KEPT = 100
"""Ended Jobs of one template: more than a day brings. The controller deletes those beyond, whoever made them."""

NEVER = "0 0 31 2 *"
"""The 31st of February: the API wants a schedule of a CronJob that is suspended too."""


@dataclass(frozen=True, kw_only=True)
class Whose:
    """The stack that a template belongs to."""

    account: str
    cluster: str

    @property
    def annotations(self) -> dict[str, str]:
        """How the template says so: `ops` refuses one of another stack."""
        return {ACCOUNT_ANNOTATION: self.account, CLUSTER_ANNOTATION: self.cluster}


HISTORY = 3
"""Ended Jobs of a schedule that are kept, of each outcome."""


def once(pod_spec: Manifest, *, labels: Mapping[str, str], container: str, deadline: int, attempts: int) -> Manifest:
    """Return the spec of a Job that runs one pod to its end.

    Args:
        pod_spec: of the pod.
        labels: of the pod.
        container: whose exit code decides.
        deadline: seconds for everything.
        attempts: after the first one, when a program could not tell (S3 gave no usable answer) or a pod was killed.
    """
    return {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": attempts,
        "podFailurePolicy": {
            "rules": [
                # a lost node is not the program's failure
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                # a failed check fails again: the missing shard does not come back, nor does the wrong argument
                {
                    "action": "FailJob",
                    "onExitCodes": {"containerName": container, "operator": "In", "values": [FAILED_CHECK, USAGE]},
                },
            ]
        },
        # never two at once
        "podReplacementPolicy": "Failed",
        "activeDeadlineSeconds": deadline,
        # a day to read the log
        "ttlSecondsAfterFinished": 24 * 3600,
        "template": {
            "metadata": {
                "labels": dict(labels),
                # Karpenter would move it to a cheaper node, and it would begin again
                "annotations": {"karpenter.sh/do-not-disrupt": "true"},
            },
            "spec": pod_spec,
        },
    }


def never_by_itself(job_spec: Manifest) -> Any:
    """Return the spec of a CronJob that is only a template: Jobs are made from it by hand (`ops`, `kubectl`)."""
    return {
        "schedule": NEVER,
        "suspend": True,
        "concurrencyPolicy": "Forbid",
        # Jobs go when their own time to live has passed, not when a second one of another model has failed
        "successfulJobsHistoryLimit": KEPT,
        "failedJobsHistoryLimit": KEPT,
        "jobTemplate": {"spec": job_spec},
    }


def on_schedule(job_spec: Manifest, *, schedule: str, time_zone: str, catch_up: int) -> Any:
    """Return the spec of a CronJob that runs by the clock.

    Args:
        job_spec: of its Jobs.
        schedule: as cron spells it.
        time_zone: the IANA name of the one that it is told in.
        catch_up: seconds after its time in which a Job that was missed (no controller, suspended) is still made. So a
            schedule that is changed to a time of that span before now runs at once (kubernetes#63371).
    """
    return {
        "schedule": schedule,
        "timeZone": time_zone,
        # its deadline ends each before the next, so this never happens; should it, the one that runs is as good
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": catch_up,
        "successfulJobsHistoryLimit": HISTORY,
        "failedJobsHistoryLimit": HISTORY,
        "jobTemplate": {"spec": job_spec},
    }
