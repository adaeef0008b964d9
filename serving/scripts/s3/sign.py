"""AWS Signature Version 4, by the standard library.

boto3 would sign too, but importing it and making a client costs 0.45 s (0.03 s for what is imported here), more than
the restore of a whole cache, and only an extra of vLLM's wheel brings it into the image.
"""

import hashlib
import hmac
import time
from collections.abc import Mapping
from urllib.parse import quote

from credentials import Credentials

EMPTY = hashlib.sha256(b"").hexdigest()
"""The payload of a request without a body."""

UNSIGNED = "UNSIGNED-PAYLOAD"
"""Stands for a body that is not part of the signature: TLS carries it, and a checksum of its own covers it."""


def path_of(*parts: str) -> str:
    """Return the URL path of a bucket and key, encoded as it is signed."""
    return "/" + "/".join(quote(part, safe="/-_.~") for part in parts if part)


def query_of(query: Mapping[str, str]) -> str:
    """Return the query string, encoded and ordered as it is signed."""
    return "&".join(f"{quote(name, safe='-_.~')}={quote(query[name], safe='-_.~')}" for name in sorted(query))


def headers(
    credentials: Credentials,
    *,
    method: str,
    host: str,
    path: str,
    query: str,
    region: str,
    extra: Mapping[str, str],
    payload: str = EMPTY,
) -> dict[str, str]:
    """Return the headers of a signed request.

    Args:
        credentials: who asks.
        method: of HTTP.
        host: with the port when it is sent.
        path: encoded, as `path_of` does.
        query: encoded, as `query_of` does.
        region: of the bucket.
        extra: further headers, names in lower case; all of them are signed.
        payload: SHA-256 of the body in hex, or `UNSIGNED`.
    """
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    fields = {**extra, "host": host, "x-amz-content-sha256": payload, "x-amz-date": now}
    if credentials.token:
        fields["x-amz-security-token"] = credentials.token
    names = sorted(fields)
    signed = ";".join(names)
    canonical = "\n".join([method, path, query, *(f"{name}:{fields[name]}" for name in names), "", signed, payload])
    scope = f"{now[:8]}/{region}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    fields["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, SignedHeaders={signed}, Signature={signature}"
    )
    return fields
