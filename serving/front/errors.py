"""What nginx answers by itself, in the form in which OpenAI's clients expect errors."""

import json
from dataclasses import dataclass

EARLY = "/front/error-"
"""How paths of early errors begin. They are nginx's own: nobody else can ask for one."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """One error of nginx."""

    status: int
    kind: str
    message: str
    headers: tuple[tuple[str, str], ...] = ()

    early: bool = False
    """It may come before nginx has read the path: a named location cannot answer it then."""

    @property
    def location(self) -> str:
        """Name of its location."""
        return f"{EARLY}{self.status}" if self.early else f"@error-{self.status}"

    def rendered(self) -> str:
        """Return the location that answers it."""
        headers = "".join(f'        add_header {name} "{value}" always;\n' for name, value in self.headers)
        return (
            f"    location {'= ' if self.early else ''}{self.location} {{\n"
            "        internal;\n"
            "        default_type application/json;\n"
            f"{headers}"
            f"        return {self.status} '{body(self.status, self.kind, self.message)}';\n"
            "    }\n"
        )


def body(status: int, kind: str, message: str) -> str:
    """Return the JSON of an error."""
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": status}})


_REQUEST, _SERVER = "invalid_request_error", "server_error"
_LATER = (("Retry-After", "5"),)


def pages(max_body_mib: int) -> tuple[Page, ...]:
    """Return an answer for each error that nginx makes itself. What the engine says is passed on as it is."""
    return (
        Page(status=400, kind=_REQUEST, message="Not a request that this server reads.", early=True),
        Page(
            status=401,
            kind=_REQUEST,
            message="A valid bearer token is required.",
            headers=(("WWW-Authenticate", "Bearer"),),
        ),
        Page(status=404, kind=_REQUEST, message="No such path."),
        Page(status=405, kind=_REQUEST, message="No such method."),
        Page(status=408, kind=_REQUEST, message="The request did not arrive in time.", early=True),
        Page(status=413, kind=_REQUEST, message=f"The request body is larger than {max_body_mib} MiB."),
        Page(status=414, kind=_REQUEST, message="The path is too long.", early=True),
        Page(status=500, kind=_SERVER, message="The front proxy failed.", headers=_LATER),
        Page(status=502, kind=_SERVER, message="The engine cannot be reached, or has ended.", headers=_LATER),
        Page(status=503, kind=_SERVER, message="The server cannot take the request now.", headers=_LATER),
        Page(status=504, kind=_SERVER, message="The engine did not answer in time."),
    )
