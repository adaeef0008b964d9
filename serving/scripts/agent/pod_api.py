"""The agent's own pod in the Kubernetes API: its wanted state is an annotation, and its `awake` label is the answer.

Get and patch are all that its role allows, and an admission policy narrows the patch to that label of this pod. Asked
every few seconds: to watch would take another right, and the wanted state changes some times a day.
"""

import http.client
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from authority import trusting
from driver import Driver

TIMEOUT = 10
LABEL_VALUE = "true"
_OK = 200


class ApiError(Exception):
    """The API did not do what was asked. The message is one line."""


@dataclass(frozen=True)
class PodApi:
    """One pod."""

    address: str
    """host:port."""
    credentials: Path
    """Folder with `token`, which kubelet renews, and `ca.crt`."""
    namespace: str
    pod: str
    annotation: str
    label: str

    def read(self) -> tuple[str, bool]:
        """Return the wanted state, and whether the pod has the label.

        Raises:
            ApiError: the API does not answer, or refuses.
        """
        metadata = self._request("GET", None)["metadata"]
        wanted = (metadata.get("annotations") or {}).get(self.annotation) or "awake"
        return wanted, self._has(metadata)

    def write(self, on: bool) -> bool:
        """Set or remove the label; return whether the pod has it now.

        Raises:
            ApiError: the API does not answer, or refuses.
        """
        patch = {"metadata": {"labels": {self.label: LABEL_VALUE if on else None}}}
        return self._has(self._request("PATCH", patch)["metadata"])

    def _has(self, metadata: dict[str, Any]) -> bool:
        return (metadata.get("labels") or {}).get(self.label) == LABEL_VALUE

    def _request(self, method: str, body: object) -> dict[str, Any]:
        host, _, port = self.address.rpartition(":")
        try:
            context = trusting(self.credentials / "ca.crt")
            token = (self.credentials / "token").read_text().strip()
            connection = http.client.HTTPSConnection(host.strip("[]"), int(port), timeout=TIMEOUT, context=context)
            try:
                connection.request(
                    method,
                    f"/api/v1/namespaces/{self.namespace}/pods/{self.pod}",
                    body=None if body is None else json.dumps(body),
                    headers={"Authorization": f"Bearer {token}", "Content-Type": "application/merge-patch+json"},
                )
                answer = connection.getresponse()
                text = answer.read().decode(errors="replace")
            finally:
                connection.close()
            found = json.loads(text) if answer.status == _OK else {}
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ApiError(f"{type(error).__name__}: {error}") from None
        if answer.status != _OK:
            raise ApiError(f"{method} answers {answer.status}: {' '.join(text.split())[:300]}")
        if not isinstance(found, dict):
            raise ApiError("the answer is no object")
        return found


def follow(api: PodApi, driver: Driver, call: Callable[..., object], period: float) -> None:
    """Bring wanted state and label in line for ever. In a thread of its own; `call` runs a function in the driver's.

    A wanted state that was there before an agent came back is no news: an order may have come after it.
    """
    known: str | None = driver.annotation
    said = ""
    while True:
        began = time.monotonic()
        try:
            wanted, has = api.read()
            if wanted != known and wanted in ("awake", "asleep"):
                known = wanted
                call(driver.annotated, wanted)
            wish = driver.machine.label
            call(driver.labelled, has if wish is None or has == wish else api.write(wish))
            problem = "" if wanted in ("awake", "asleep") else f"annotation {api.annotation}: {wanted!r} is no state"
        except ApiError as error:
            problem = str(error)
        if problem != said:
            said = problem
            sys.stderr.write(f"kubernetes: {problem or 'well again'}\n")
            sys.stderr.flush()
        # the machine waits for the label: what it wishes is looked at more often than what others want
        while time.monotonic() - began < period and (problem or driver.machine.label == wish):
            time.sleep(period / 20)
