"""Set the number of pods of one Deployment, as the Job of a schedule: through its scale, and nothing else of it.

    python scale.py --namespace=<name> --deployment=<name> --replicas=<count> --credentials=<folder>

The folder holds `token` and `ca.crt` as kubelet projects them; the API server is where KUBERNETES_SERVICE_HOST and
KUBERNETES_SERVICE_PORT say.
Exit code 0 it has that number, 1 refused (no such Deployment, no right to it), 2 usage, 3 could not tell (no usable
answer).
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import termination
from authority import trusting
from between import between
from web import LaterError, RefusedError, Reply, UnclearError, Web, retried

PATIENCE = 240
"""Seconds of repeated attempts of one pod; its Job makes others."""

MANAGER = "vllm-eks-idle"
"""Whose the number is afterwards, in the object's managed fields."""

AGAIN = frozenset({401, 409})
"""A token that kubelet is about to renew; an object that somebody else has just changed."""

NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


def server(env: Mapping[str, str]) -> str:
    """Return the API server's address, as kubelet names it in every container.

    Raises:
        UnclearError: it does not.
    """
    host, port = env.get("KUBERNETES_SERVICE_HOST", ""), env.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise UnclearError("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no pod")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


class Scale:
    """The scale of one Deployment."""

    def __init__(self, web: Web, address: str, credentials: Path, namespace: str, deployment: str) -> None:
        self.title = f"{namespace}/{deployment}"
        self._web, self._token = web, credentials / "token"
        self._url = f"{address}/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}/scale"

    def get(self) -> int:
        """Return the number that is asked for.

        Raises:
            LaterError: no usable answer now.
            RefusedError: no Deployment, or no right.
        """
        return self._replicas(self._ask("GET", self._url))

    def set(self, replicas: int) -> int:
        """Ask for another number, and return what the API server then says. Raises as `get`."""
        body = json.dumps({"spec": {"replicas": replicas}}).encode()
        return self._replicas(self._ask("PATCH", f"{self._url}?fieldManager={MANAGER}", body))

    def _ask(self, method: str, url: str, body: bytes = b"") -> Reply:
        try:
            # read for each attempt: kubelet renews it
            token = self._token.read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            raise LaterError(f"{self._token}: no token there") from None
        kind = {"Content-Type": "application/merge-patch+json"} if body else {}
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json", **kind}
        reply = self._web.exchange(method, url, headers, body)
        retried(reply, self.title)
        if reply.status in AGAIN or reply.status >= 500:
            raise LaterError(f"{self.title}: {_said(reply)}")
        if reply.status != 200:
            raise RefusedError(f"{self.title}: {_said(reply)}")
        return reply

    def _replicas(self, reply: Reply) -> int:
        found = _json(reply).get("spec")
        # a scale of none leaves the field out
        count = found.get("replicas", 0) if isinstance(found, dict) else None
        if not isinstance(count, int):
            raise LaterError(f"{self.title}: the answer is no scale")
        return count


def _json(reply: Reply) -> dict[str, Any]:
    try:
        found = json.loads(reply.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _said(reply: Reply) -> str:
    """Return the status and the API server's own words, which hold no token, on one line."""
    message = " ".join(str(_json(reply).get("message", "")).split())
    return f"{reply.status}, {message}" if message else str(reply.status)


def scaled(scale: Scale, web: Web, replicas: int) -> str:
    """Return a line that says what was done.

    Raises:
        RefusedError: it may not be done.
        UnclearError: nobody said that it was.
    """
    before: list[int] = []

    def attempt() -> None:
        found = scale.get()
        before.append(found)
        if found != replicas and scale.set(replicas) != replicas:
            raise LaterError(f"{scale.title}: the answer to a change is the old number")

    web.patiently(attempt)
    if before[0] == replicas:
        return f"{scale.title} has {replicas} replicas already"
    return f"{scale.title} from {before[0]} to {replicas} replicas"


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text} is no name of an object")
    return text


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(prog="scale.py", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--namespace", type=_name, required=True)
    parser.add_argument("--deployment", type=_name, required=True)
    parser.add_argument("--replicas", type=between(0, 1000), required=True)
    parser.add_argument("--credentials", type=Path, required=True, help="the folder of the token and the authority")
    seconds = between(0.0, 3600.0)
    parser.add_argument("--patience", type=seconds, default=PATIENCE, help=f"seconds of retries ({PATIENCE})")
    told, code = _told(parser.parse_args(), os.environ)
    print(f"scale: {told}", file=sys.stderr if code else sys.stdout)
    termination.say(f"scale: {told}")
    return code


def _told(args: argparse.Namespace, env: Mapping[str, str]) -> tuple[str, int]:
    try:
        web = Web(args.patience, trusting(args.credentials / "ca.crt"))
        scale = Scale(web, server(env), args.credentials, args.namespace, args.deployment)
        return scaled(scale, web, args.replicas), 0
    except RefusedError as error:
        return str(error), 1
    except UnclearError as error:
        return f"could not tell: {error}", 3
    except Exception as error:  # one line whatever happens: it is all that the pod's status keeps
        return f"could not tell: {type(error).__name__}: {error}", 3


if __name__ == "__main__":
    sys.exit(main())
