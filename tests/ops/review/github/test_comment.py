"""One comment, found again and updated, whatever GitHub answers; and its token in no line."""

import time

import pytest

from ops.review.body import MARKER
from ops.review.github.client import PATIENCE
from tests.ops.review.github.server import BOT, TOKEN

HEAD = "a" * 40
TEXT = f"{MARKER}\nnew\n"


@pytest.fixture
def post(site, ops, folder):
    """`post(...)`: exit code, standard output, standard error; the token is in neither."""
    (folder / "body.md").write_text(TEXT)

    def run(*more, number="7"):
        arguments = ("--repository", "o/r", "--pull-request", number, "--body", "body.md", *more)
        code, out, err = ops("review", "post", *arguments)
        assert TOKEN not in out + err
        return code, out, err

    return run


def changes(site):
    return [it for it in site.asked if not it.startswith("GET")]


def test_the_first_time_it_is_made_and_then_updated_in_place(site, post, folder):
    assert post("--head", HEAD) == (0, "made: https://github.com/o/r/1\n", "")
    assert post() == (0, "as it was: https://github.com/o/r/1\n", "")
    (folder / "body.md").write_text(f"{MARKER}\nother\n")
    assert post() == (0, "updated: https://github.com/o/r/1\n", "")
    assert [it["body"] for it in site.comments] == [f"{MARKER}\nother\n"]
    assert changes(site) == ["POST /repos/o/r/issues/7/comments", "PATCH /repos/o/r/issues/comments/1"]


def test_it_is_found_on_any_page(site, post):
    for n in range(250):
        site.wrote("octocat", f"comment {n}")
    site.wrote(BOT, f"{MARKER}\nold\n")
    assert post() == (0, "updated: https://github.com/o/r/251\n", "")
    assert len(site.comments) == 251


@pytest.mark.parametrize("login", ["octocat", "github-actions"])
def test_a_marker_in_somebody_elses_comment_is_only_text(site, post, login):
    site.wrote(login, f"{MARKER}\nforged\n")
    assert post()[:2] == (0, "made: https://github.com/o/r/2\n")
    assert site.comments[0]["body"] == f"{MARKER}\nforged\n"


def test_a_marker_that_does_not_come_first_is_only_text(site, post):
    site.wrote(BOT, f"> {MARKER}\n")
    assert post()[:2] == (0, "made: https://github.com/o/r/2\n")


def test_results_of_another_commit_are_not_posted(site, post):
    code, out, err = post("--head", "b" * 40)
    assert (code, out) == (1, "")
    assert err == (
        f"pull request 7 is at {HEAD}, the results are of {'b' * 40}: newer commits came, or the results are another"
        " pull request's; nothing was posted\n"
    )
    assert changes(site) == []


def test_a_comment_that_the_next_run_would_not_find_is_a_failure(site, post):
    site.login = "our-app[bot]"
    code, _, err = post()
    assert (code, err) == (
        1,
        f"the comment was made as our-app[bot], and one of {BOT} was looked for: the next run would make another one;"
        " pass --author our-app[bot]\n",
    )
    assert post("--author", "our-app[bot]")[:2] == (0, "as it was: https://github.com/o/r/1\n")


def test_a_text_without_the_marker_is_not_posted(site, post, folder):
    (folder / "body.md").write_text("x")
    assert post()[::2] == (1, f"the text does not begin with {MARKER}: it would never be found again\n")
    assert site.asked == []


LIST = "/repos/o/r/issues/7/comments?per_page=100&page=1"


@pytest.mark.parametrize(
    ("status", "headers", "message", "code", "said"),
    [
        (401, {}, "Bad credentials", 3, "401 Bad credentials: the token is not valid any more"),
        (
            403,
            {},
            "Resource not accessible by integration",
            3,
            "403 Resource not accessible by integration: the token may not do this; the job needs `pull-requests:"
            " write` (or `issues: write`)",
        ),
        (404, {}, "Not Found", 1, "404 Not Found: not there, or the token may not see it"),
        (301, {"Location": "/x"}, "Moved", 1, "301 Moved: it has moved; name it as it is called now"),
        (422, {}, "\x1b[31mno", 1, "422 \\x1b[31mno"),
    ],
    ids=["401", "403", "404", "301", "422"],
)
def test_a_refusal_is_one_line_and_is_not_asked_again(site, post, waits, status, headers, message, code, said):
    site.bad = [("GET", status, headers, message)]
    assert post() == (code, "", f"GET {site.url}{LIST}: {said}\n")
    assert (len(site.asked), waits) == (1, [])


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_fault_is_asked_again_for_a_while(site, post, waits, status):
    site.bad = [("GET", status, {}, "")] * 2
    assert post()[:2] == (0, "made: https://github.com/o/r/1\n")
    assert waits == [2.0, 4.0]


def test_a_fault_that_lasts_is_unclear(site, post, waits):
    site.bad = [("GET", 500, {}, "")] * 9
    assert post() == (3, "", f"GET {site.url}{LIST}: 500, also after 5 tries and 30 s; run it again later\n")
    assert waits == [2.0, 4.0, 8.0, 16.0]


@pytest.mark.parametrize(
    ("status", "headers", "message", "pause"),
    [
        (403, {"Retry-After": "7"}, "x", 7.0),
        (429, {"Retry-After": "8"}, "x", 8.0),
        (403, {"x-ratelimit-remaining": "0"}, "API rate limit exceeded", 60.0),
        (403, {}, "You have exceeded a secondary rate limit", 60.0),
        (429, {}, "", 60.0),
    ],
    ids=["after", "after-429", "primary", "secondary", "bare"],
)
def test_a_rate_limit_is_waited_for(site, post, waits, status, headers, message, pause):
    site.bad = [("POST", status, headers, message)]
    assert post()[:2] == (0, "made: https://github.com/o/r/1\n")
    assert waits == [pause]


def test_a_rate_limit_is_waited_for_until_it_ends(site, post, waits):
    reset = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + 30)}
    site.bad = [("GET", 403, reset, "API rate limit exceeded")]
    assert post()[0] == 0
    assert 20 < waits[0] <= 30


def test_a_rate_limit_beyond_our_patience_is_unclear(site, post, waits):
    site.bad = [("GET", 429, {"Retry-After": str(int(PATIENCE) + 1)}, "slow down")]
    assert post()[::2] == (
        3,
        f"GET {site.url}{LIST}: 429 slow down, also after 1 tries and 0 s; run it again later\n",
    )
    assert waits == []


@pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
def test_a_fault_while_it_is_made_never_makes_it_twice(site, post, done):
    site.bad = [("POST", 502, {}, "")]
    site.does_it_all_the_same = done
    assert post()[0] == 0
    assert len(site.comments) == 1


def test_a_making_that_never_works_is_unclear(site, post):
    site.bad = [("POST", 502, {}, "")] * 9
    assert post()[::2] == (3, f"POST {site.url}/repos/o/r/issues/7/comments: 502\n")
    assert len(changes(site)) == 3


def test_a_server_that_is_not_there_is_unclear(post, monkeypatch, waits):
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:1")
    code, _, err = post()
    assert (code, len(waits)) == (3, 4)
    assert err.startswith("GET http://127.0.0.1:1/repos/o/r/issues/7/comments?per_page=100&page=1: no answer (")


def test_without_a_token_nobody_is_asked(site, post, monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN")
    assert post()[::2] == (3, "GITHUB_TOKEN is not set: nobody to ask GitHub as\n")
    assert site.asked == []


def test_a_token_is_not_sent_in_the_clear(site, post, monkeypatch):
    monkeypatch.setenv("GITHUB_API_URL", "http://example.com")
    assert post()[::2] == (3, "GITHUB_API_URL http://example.com: expected https, a token is sent there\n")


@pytest.mark.parametrize("number", ["", "0", "x", "1;id"])
def test_what_is_no_number_is_usage(site, post, number):
    code, out, _ = post(number=number)
    assert (code, out, site.asked) == (2, "", [])
