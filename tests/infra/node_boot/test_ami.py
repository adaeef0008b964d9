"""AMI aliases: a family whose boot is known, and a release that stays."""

import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.node_boot.ami import Ami, ami_alias


@pytest.mark.parametrize(
    ("text", "family", "version", "release"),
    [
        ("al2023@v20260724", "al2023", "v20260724", (20260724,)),
        ("al2023@v20240229", "al2023", "v20240229", (20240229,)),
        ("bottlerocket@v1.49.0", "bottlerocket", "v1.49.0", (1, 49, 0)),
        ("bottlerocket@v10.0.12", "bottlerocket", "v10.0.12", (10, 0, 12)),
    ],
)
def test_an_alias_is_a_family_and_a_release(text: str, family: str, version: str, release: tuple[int, ...]) -> None:
    ami = ami_alias(text)
    assert (ami.family, ami.version, ami.release, str(ami)) == (family, version, release, text)


AL2023 = "not an AL2023 release; expected al2023@vYYYYMMDD, for example al2023@v20260724"
BOTTLEROCKET = "not a Bottlerocket release; expected bottlerocket@vX.Y.Z, for example bottlerocket@v1.46.0"
FAMILY = "not an AMI family whose boot is known; expected al2023@vYYYYMMDD or bottlerocket@vX.Y.Z"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", FAMILY),
        ("al2@v20260724", FAMILY),
        ("AL2023@v20260724", FAMILY),
        ("windows2022@latest", FAMILY),
        ("ami-0123456789abcdef0", FAMILY),
        ("al2023", "has no version; expected al2023@vYYYYMMDD"),
        ("al2023@", "has no version; expected al2023@vYYYYMMDD"),
        ("bottlerocket", "has no version; expected bottlerocket@vX.Y.Z"),
        ("al2023@20260724", AL2023),
        ("al2023@v2026072", AL2023),
        ("al2023@v2026-07-24", AL2023),
        ("al2023@v1.49.0", AL2023),
        ("al2023@v20260724@v1", AL2023),
        ("al2023@v2026072\N{FULLWIDTH DIGIT FOUR}", AL2023),
        ("al2023@v20260230", "v20260230 is not a day of the calendar; expected al2023@vYYYYMMDD"),
        ("al2023@v20261301", "v20261301 is not a day of the calendar; expected al2023@vYYYYMMDD"),
        ("bottlerocket@1.49.0", BOTTLEROCKET),
        ("bottlerocket@v1.49", BOTTLEROCKET),
        ("bottlerocket@v1.49.0-rc1", BOTTLEROCKET),
        ("bottlerocket@v01.49.0", BOTTLEROCKET),
        ("bottlerocket@v20260724", BOTTLEROCKET),
    ],
)
def test_KRP_03_an_alias_of_the_wrong_family_or_form_is_refused(text: str, problem: str) -> None:
    for allow_latest in (False, True):
        with pytest.raises(ValueError, match=f"^{re.escape(problem)}$"):
            ami_alias(text, allow_latest=allow_latest)


@pytest.mark.parametrize(("family", "form"), [("al2023", "al2023@vYYYYMMDD"), ("bottlerocket", "bottlerocket@vX.Y.Z")])
def test_KRP_03_latest_needs_to_be_allowed(family: str, form: str) -> None:
    """Every release would replace every node the moment it is published (karpenter-provider-aws#6862)."""
    problem = f"drifts every node at each AMI release; expected {form}, or allowLatestAmi: true beside it"
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}$"):
        ami_alias(f"{family}@latest")
    latest = ami_alias(f"{family}@latest", allow_latest=True)
    assert (str(latest), latest.release) == (f"{family}@latest", None)
    assert latest.at_least((99999999,))


@given(st.dates(min_value=date(2023, 1, 1), max_value=date(2099, 12, 31)), st.dates(min_value=date(2023, 1, 1)))
def test_releases_are_ordered_as_their_days(one: date, other: date) -> None:
    ami = ami_alias(f"al2023@v{one:%Y%m%d}")
    assert ami.at_least((int(f"{other:%Y%m%d}"),)) is (one >= other)


@given(st.text(max_size=40))
def test_any_text_is_an_alias_or_refused_in_one_line(text: str) -> None:
    try:
        ami = ami_alias(text, allow_latest=True)
    except ValueError as refusal:
        problem = str(refusal)
        assert problem.isprintable()
    else:
        assert isinstance(ami, Ami)
        assert str(ami) == text
