"""The Jobs of `ops weights`: from one template, with the program and the arguments of each."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from infra.naming import ONBOARDING
from ops.cluster import jobs
from ops.cluster.api import Body, Cluster
from ops.cluster.follow import End
from ops.failures import FAILED_CHECK, OK, UNCLEAR, USAGE, RefusedError
from ops.programs import DEFAULT_ENDPOINT, pinned, place
from ops.stack.stack_file import Stack
from serving.jobs.onboard import Onboarding
from serving.model import ModelSettings, ModelUri
from serving.server import ServerSettings

MISSING = "`pulumi up` makes it"


def onboarding(
    server: ServerSettings,
    repository: str,
    revision: str,
    *,
    include: Sequence[str],
    exclude: Sequence[str],
    allow_pickle: bool,
) -> Onboarding:
    """Return what is to be copied to where the server looks for it.

    Raises:
        RefusedError: a revision that moves, or a folder that is named after another commit.
    """
    uri = server.model.uri
    try:
        commit = pinned(DEFAULT_ENDPOINT, repository, revision)
    except ValueError as error:
        raise RefusedError(f"--{error}") from None  # it begins with the name of the argument
    try:
        place(str(uri), commit)
    except ValueError as error:
        raise RefusedError(str(error)) from None
    return Onboarding(
        repository=repository, commit=commit, uri=uri, include=include, exclude=exclude, allow_pickle=allow_pickle
    )


def copying(cluster: Cluster, stack: Stack, what: Onboarding) -> Body:
    """Return the Job that copies. Nothing is made yet.

    Raises:
        RefusedError: there is no template, it is another stack's, or a Job for the same folder has not ended.
        UnclearError: the cluster does not tell.
    """
    template = jobs.template(cluster, stack, ONBOARDING, why_missing=MISSING)
    jobs.refuse_running(cluster, stack.settings.namespace, what.job_name)

    def change(container: Body) -> None:
        container["args"] = what.arguments

    return jobs.job(template, what.job_name, change)


def checking(cluster: Cluster, stack: Stack, uri: ModelUri, *, deep: bool, allow_pickle: bool) -> Body:
    """Return the Job that checks a folder. Nothing is made yet.

    Raises:
        RefusedError: there is no template, or it is another stack's.
        UnclearError: the cluster does not tell.
    """
    template = jobs.template(cluster, stack, ONBOARDING, why_missing=MISSING)

    def change(container: Body) -> None:
        *interpreter, program = container["command"]
        container["command"] = [*interpreter, str(PurePosixPath(program).with_name("verify.py"))]
        container["args"] = [
            str(uri),
            *(["--deep"] if deep else []),
            *(["--allow-pickle"] if allow_pickle else []),
        ]

    return jobs.job(template, jobs.random_name(template), change)


def copied(what: Onboarding, model: ModelSettings) -> str:
    """Return what a copy does and costs, for people."""
    return (
        f"copies {what.repository} at {what.commit} to {what.uri}, {model.size_gib:g} GiB (model.sizeGib) from the"
        " internet through the NAT gateway, on a system node, no GPU; AWS bills what passes the gateway, and what lies"
        " in S3"
    )


def checked(model: ModelSettings, *, deep: bool) -> str:
    """Return what a check does and costs, for people."""
    read = f"reads and hashes {model.size_gib:g} GiB (model.sizeGib)" if deep else "lists, and reads heads,"
    return f"{read} of {model.uri}, on a system node, no GPU; nothing is changed but the Job that is made"


def verdict(title: str, end: End) -> tuple[str, int]:
    """Return what the program said last, and the exit code that goes with its own.

    Args:
        title: of the Job.
        end: of the Job.
    """
    told = end.message.strip() or end.without_report(title)
    if end.succeeded:
        return told, OK
    # its own usage errors are ours: the arguments were checked here
    return told, FAILED_CHECK if end.code in {FAILED_CHECK, USAGE} else UNCLEAR
