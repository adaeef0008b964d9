"""Jobs made from the stack's templates: suspended CronJobs, as `kubectl create job --from` uses them."""

import copy
import secrets
import string
import time
from collections.abc import Callable, Sequence

from infra.naming import ACCOUNT_ANNOTATION, CLUSTER_ANNOTATION
from ops.cluster.api import Body, Cluster
from ops.failures import RefusedError, UnclearError
from ops.stack.stack_file import Stack

_ALPHABET = string.ascii_lowercase + string.digits
_DELETION_SECONDS = 60


def template(cluster: Cluster, stack: Stack, name: str, *, why_missing: str) -> Body:
    """Return a CronJob that holds a Job's template.

    Raises:
        RefusedError: there is none, or it is not this stack's: a kubeconfig may lead anywhere.
    """
    namespace = stack.settings.namespace
    title = f"CronJob {namespace}/{name}"
    found = cluster.find(f"/apis/batch/v1/namespaces/{namespace}/cronjobs/{name}")
    if found is None:
        raise RefusedError(f"{title}: not there; {why_missing}")
    owner = whose(found)
    if owner is None:
        raise RefusedError(
            f"{title}: of an older program, it does not say which cluster's it is: run `pulumi up` first"
        )
    wanted = stack.settings.name, stack.settings.account.id
    if owner != wanted:
        raise RefusedError(
            f"{title}: of {named(*owner)}, and the stack file names {named(*wanted)};"
            " nothing is done in another cluster"
        )
    return found


def whose(template: Body) -> tuple[str, str] | None:
    """Return the cluster and the account that a template is of; None: it does not say, as those of older programs."""
    annotations = template["metadata"].get("annotations") or {}
    if not {CLUSTER_ANNOTATION, ACCOUNT_ANNOTATION} <= annotations.keys():
        return None
    return annotations[CLUSTER_ANNOTATION], annotations[ACCOUNT_ANNOTATION]


def job(cron_job: Body, name: str, change: Callable[[Body], None] | None = None) -> Body:
    """Return a Job as the CronJob would make it.

    Args:
        cron_job: holds the template.
        name: of the Job.
        change: what is to be another way in its one container.
    """
    kind = copy.deepcopy(cron_job["spec"]["jobTemplate"])
    metadata = kind.get("metadata") or {}
    owner = cron_job["metadata"]
    if change:
        change(kind["spec"]["template"]["spec"]["containers"][0])
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": owner["namespace"],
            "labels": metadata.get("labels") or {},
            "annotations": {**(metadata.get("annotations") or {}), "cronjob.kubernetes.io/instantiate": "manual"},
            # as kubectl's: no blockOwnerDeletion, which would need rights over the CronJob's finalizers
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "CronJob",
                    "name": owner["name"],
                    "uid": owner["uid"],
                    "controller": True,
                }
            ],
        },
        "spec": kind["spec"],
    }


def random_name(cron_job: Body) -> str:
    """Return a new name for a Job. A CronJob's has at most 52 characters, a Job's 63."""
    tail = "".join(secrets.choice(_ALPHABET) for _ in range(6))
    return f"{cron_job['metadata']['name']}-{tail}"


def start(cluster: Cluster, body: Body) -> str:
    """Make the Job, in the place of one of its name that has ended, and return its name.

    Raises:
        RefusedError: one of its name runs.
        UnclearError: the cluster does not tell.
    """
    make_way(cluster, body["metadata"]["namespace"], body["metadata"]["name"])
    made = cluster.create(f"/apis/batch/v1/namespaces/{body['metadata']['namespace']}/jobs", body)
    return str(made["metadata"]["name"])


def running(cluster: Cluster, namespace: str, cron_jobs: Sequence[str]) -> list[str]:
    """Return the names of Jobs that one of the CronJobs owns and that have not ended."""
    return sorted(
        it["metadata"]["name"]
        for it in cluster.list(f"/apis/batch/v1/namespaces/{namespace}/jobs")
        if end_condition(it) is None
        and any(
            owner["kind"] == "CronJob" and owner["name"] in cron_jobs
            for owner in it["metadata"].get("ownerReferences", ())
        )
    )


def refuse_running(cluster: Cluster, namespace: str, name: str) -> Body | None:
    """Return the Job of this name, which has ended; None: there is none.

    Raises:
        RefusedError: it has not ended.
    """
    found = cluster.find(f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}")
    if found is not None and end_condition(found) is None:
        raise RefusedError(f"Job {namespace}/{name}: still running; follow it: {follow_by_hand(namespace, name)}")
    return found


def make_way(cluster: Cluster, namespace: str, name: str) -> None:
    """Remove a Job of this name that has ended.

    Raises:
        RefusedError: it has not.
        UnclearError: it does not go.
    """
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
    found = refuse_running(cluster, namespace, name)
    if found is None:
        return
    cluster.delete(path, found["metadata"]["uid"])
    deadline = time.monotonic() + _DELETION_SECONDS
    # another of the name is a faster operator's
    while (left := cluster.find(path)) and left["metadata"]["uid"] == found["metadata"]["uid"]:
        if time.monotonic() > deadline:
            raise UnclearError(f"Job {namespace}/{name}: deleted, and still there after {_DELETION_SECONDS} s")
        time.sleep(0.5)


def end_condition(job: Body) -> Body | None:
    """Return the condition that ended a Job: of type Complete or Failed; None while it runs."""
    conditions = job.get("status", {}).get("conditions") or []
    return next((it for it in conditions if it["type"] in {"Complete", "Failed"} and it["status"] == "True"), None)


def follow_by_hand(namespace: str, name: str) -> str:
    """Return the command that shows a Job's log."""
    return f"kubectl -n {namespace} logs -f job/{name}"


def named(cluster: str, account: str) -> str:
    """Return a cluster in words."""
    return f"cluster {cluster} of account {account}"
