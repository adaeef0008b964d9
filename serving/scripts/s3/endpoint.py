"""Where a bucket answers, whom it must be to be believed, and which refusals pass: one for reading and for writing."""

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import sign
from credentials import Credentials
from outcome import DeniedError

EXPIRED = frozenset({"ExpiredToken", "TokenRefreshRequired", "InvalidToken"})
"""Codes of S3 that newer credentials cure."""

AGAIN = frozenset(
    {
        "SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "OperationAborted",
        # of two conditional writes at once, S3 cannot tell yet which is first
        "ConditionalRequestConflict",
    }
)  # fmt: skip
"""Codes that another attempt cures, whatever status they come with."""

PASSING = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses that another attempt may cure."""

_REGION = re.compile(r"[a-z0-9-]{1,40}", re.ASCII)


@dataclass(frozen=True)
class Endpoint:
    """One bucket's address."""

    region: str
    scheme: str
    host: str
    """With the port, as it is signed."""
    folder: str
    """The bucket, when it is part of the path and not of the host."""

    @classmethod
    def of(cls, bucket: str, env: Mapping[str, str]) -> "Endpoint":
        """Return the address that the environment gives, S3's own in the region unless it names another.

        Raises:
            DeniedError: it gives none.
        """
        region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or ""
        if not region:
            raise DeniedError("AWS_REGION is not set")
        # part of a host name and of the signed header
        if not _REGION.fullmatch(region):
            raise DeniedError("AWS_REGION is not the name of a region")
        given = env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL")
        if given and "@" in given:
            # the address is printed with each failure
            raise DeniedError("AWS_ENDPOINT_URL names a user: want an address alone")
        # a dot in the bucket's name does not fit the wildcard certificate
        virtual = not given and "." not in bucket
        suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        url = urlsplit(given or f"https://{bucket + '.' if virtual else ''}s3.{region}.{suffix}")
        if url.scheme not in {"http", "https"} or not url.hostname:
            raise DeniedError(f"{given}: not an endpoint")
        return cls(region, url.scheme, url.netloc, "" if virtual else bucket)

    def request(
        self,
        keys: Credentials,
        method: str,
        key: str,
        query: Mapping[str, str],
        extra: Mapping[str, str],
        payload: str = sign.EMPTY,
    ) -> tuple[str, dict[str, str]]:
        """Return target (path and query) and headers of a signed request. An empty key is the bucket itself."""
        path, encoded = sign.path_of(self.folder, key), sign.query_of(query)
        headers = sign.headers(
            keys,
            method=method,
            host=self.host,
            path=path,
            query=encoded,
            region=self.region,
            extra=extra,
            payload=payload,
        )
        return f"{path}?{encoded}" if encoded else path, headers


def trusted() -> ssl.SSLContext:
    """Return the system's certificate authorities (SSL_CERT_FILE names others).

    A program that runs with site-packages and finds none takes those that `requests` brings. A restore runs without
    (`-S`), and has the system's or none.
    """
    system = ssl.get_default_verify_paths()
    bundle = None
    if not system.cafile and not system.capath:
        try:
            # in the vLLM image through `requests`
            from certifi import where  # noqa: PLC0415

            bundle = where()
        except ImportError:
            bundle = None
    return ssl.create_default_context(cafile=bundle)
