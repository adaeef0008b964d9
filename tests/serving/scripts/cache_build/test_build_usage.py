"""What a build is told wrongly: one line before anything is done."""

import pytest

from tests.serving.scripts.cache_build.build_case import Case


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("--limit", "nan", "0.0 and 86400.0"),
        ("--limit", "-1", "0.0 and 86400.0"),
        ("--patience", "nan", "0.0 and 86400.0"),
        ("--patience", "inf", "0.0 and 86400.0"),
        ("--port", "-1", "1 and 65535"),
        ("--port", "0", "1 and 65535"),
        ("--part-bytes", "0", "5242880 and 1073741824"),
    ],
)
def test_a_number_out_of_its_range_is_usage(case: Case, option: str, value: str, allowed: str):
    case.arguments = [option, value]
    process = case.start()
    log, _ = process.communicate(timeout=10)
    assert (process.returncode, log) == (2, f"usage: argument {option}: {value} is not between {allowed}\n")
    assert case.bucket.requests == []


def test_an_engine_that_would_write_elsewhere_is_refused_by_the_variable_to_set(case: Case):
    line = case.run(code=1, HOME="/home/engine", VLLM_CACHE_ROOT="")
    where = f"/home/engine/.cache/vllm, not below {case.root}"
    assert (line["outcome"], line["reason"]) == (
        "refused",
        f"the engine's cache would be {where}: VLLM_CACHE_ROOT or HOME moves it",
    )
    assert not case.root.exists()


def test_who_has_no_credentials_cannot_tell(case: Case, monkeypatch: pytest.MonkeyPatch):
    given = {name: value for name, value in case.environment().items() if not name.startswith("AWS_ACCESS")}
    monkeypatch.setattr(case, "environment", lambda: given)
    line = case.run(code=3)
    assert (line["outcome"], line["reason"]) == (
        "unclear",
        "no AWS credentials: the pod was admitted without a Pod Identity association",
    )
