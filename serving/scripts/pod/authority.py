"""Trust in the API server of the cluster that a pod runs in."""

import ssl
from pathlib import Path


def trusting(authority: Path) -> ssl.SSLContext:
    """Return what trusts the cluster's authority and no other.

    Not `create_default_context`: from Python 3.13 on that wants key identifiers which the authority of an EKS cluster
    does not have (kubernetes-client/python#2394).
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority)
    return context
