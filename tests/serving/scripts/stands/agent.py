"""The Pod Identity agent: refuses for some seconds, then hands out keys to who shows the pod's token."""

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

from tests.serving.scripts.stands.loopback import Quiet, Server


class Agent:
    def __init__(self, seconds: float) -> None:
        self.tokens: list[str] = []
        ready, agent = time.monotonic() + seconds, self

        class Handler(Quiet):
            def do_GET(self) -> None:
                agent.tokens.append(self.headers.get("Authorization", ""))
                keys = {"AccessKeyId": "a", "SecretAccessKey": "s", "Token": "t", "Expiration": "2099-01-01T00:00:00Z"}
                if time.monotonic() > ready:
                    self.answer(200, json.dumps(keys).encode())
                else:
                    self.answer(404, b"not yet")

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = self.server.start()

    def env(self, folder: Path) -> dict[str, str]:
        (folder / "token").write_text("pod-token\n")
        return {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{self.url}/v1/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(folder / "token"),
        }


@contextlib.contextmanager
def agent(seconds: float) -> Iterator[Agent]:
    made = Agent(seconds)
    yield made
    made.server.stop()
