"""Whose pod it is, where a preview does not say."""

from __future__ import annotations

import pytest

from guardrails.accounts import account_of, account_of_association
from guardrails.pods import pods
from guardrails.value import NotKnownError
from tests.policies.conftest import UNKNOWN, resource

ACCOUNT = "kubernetes:core/v1:ServiceAccount"
NAMESPACE = "kubernetes:core/v1:Namespace"


def made(name="scaler", namespace="inference", kind=ACCOUNT, sources=None):
    return resource(kind, {"metadata": {"name": name, "namespace": namespace}}, f"made-{name}", sources=sources)


def account(its, namespace="inference", **sources):
    props = {"metadata": {"namespace": namespace}, "spec": {"template": {"spec": its}}}
    (pod,) = pods(resource("kubernetes:apps/v1:Deployment", props, sources=sources))
    return account_of(pod)


def test_what_is_said_holds():
    other = made()
    assert account({"serviceAccountName": "gemma"}, spec=[other]) == ("inference", "gemma")
    assert account({"serviceAccount": "gemma"}) == ("inference", "gemma")
    assert account({}, namespace=None, spec=[other]) == ("default", "default")


def test_what_is_not_known_is_taken_from_the_one_account_that_it_comes_from():
    assert account({"serviceAccountName": UNKNOWN}, UNKNOWN, spec=[made()]) == ("inference", "scaler")
    assert account({"serviceAccount": UNKNOWN}, spec=[made(), made("x", kind=NAMESPACE)]) == ("inference", "scaler")


def test_two_accounts_tell_nothing():
    with pytest.raises(NotKnownError, match=r"^spec\.template\.spec\.serviceAccountName$"):
        account({"serviceAccountName": UNKNOWN}, spec=[made(), made("other")])
    with pytest.raises(NotKnownError, match=r"^metadata\.namespace$"):
        account({"serviceAccountName": "gemma"}, UNKNOWN)


def test_a_namespace_is_taken_from_the_one_that_it_comes_from():
    namespace = resource(NAMESPACE, {"metadata": {"name": "serving"}}, "serving")
    assert account({"serviceAccountName": "gemma"}, UNKNOWN, metadata=[namespace]) == ("serving", "gemma")
    its = made(namespace=UNKNOWN, sources={"metadata": [namespace]})
    assert account({"serviceAccountName": UNKNOWN}, UNKNOWN, spec=[its]) == ("serving", "scaler")


def test_a_name_that_the_engine_gives_is_that_of_nothing_else():
    its = resource(ACCOUNT, {"metadata": {"namespace": "inference"}}, "auto")
    its_association = resource(
        "aws:eks/podIdentityAssociation:PodIdentityAssociation",
        {"namespace": UNKNOWN, "serviceAccount": UNKNOWN},
        sources={"serviceAccount": [its], "namespace": [its]},
    )
    assert account({"serviceAccountName": UNKNOWN}, spec=[its]) == account_of_association(its_association)
    assert account({"serviceAccountName": UNKNOWN}, spec=[made()]) != account_of_association(its_association)


def test_an_association_may_come_from_its_namespace():
    namespace = resource(NAMESPACE, {"metadata": {"name": "serving"}}, "serving")
    props = {"namespace": UNKNOWN, "serviceAccount": "gemma"}
    kind = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
    assert account_of_association(resource(kind, props, sources={"namespace": [namespace]})) == ("serving", "gemma")
    with pytest.raises(NotKnownError, match=r"^namespace$"):
        account_of_association(resource(kind, props))
