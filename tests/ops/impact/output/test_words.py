"""Two values as a comment shows them: what differs, and nothing cut that nobody could read."""

import base64

from ops.impact.leaves import Change
from ops.impact.output.words import changed as changed_words


def test_of_two_long_values_what_differs_is_shown():
    def told(was, now):
        return changed_words(Change("x", was, now))

    start = "s3://a-bucket-with-a-long-name/models/"
    assert told(f"{start}{'m' * 30}/r1/", f"{start}{'m' * 30}/r2/") == f"`...{'m' * 18}/r1/` -> `...{'m' * 18}/r2/`"
    assert told("a-" * 50, "b-" * 50) == f"`{'a-' * 30}...` -> `{'b-' * 30}...`"
    assert told("short/r1", "short/r2") == "`short/r1` -> `short/r2`"
    assert told("x" * 79, "x" * 70) == f"`...{'x' * 29}` -> `...{'x' * 20}`"
    assert told(None, "x" * 70) == f"absent -> `{'x' * 60}...`"


def test_of_a_text_the_lines_that_differ_are_shown_and_of_base64_those_of_what_it_holds():
    was, now = "a\nb\n  c\nd", "a\nB\n  c\nd\ne\nf"
    said = "changed: `- b`, `+ B`, `+ e`, 1 more line"
    assert changed_words(Change("x", was, now)) == said
    assert changed_words(Change("x", was, now), 9) == "changed: `- b`, `+ B`, `+ e`, `+ f`"

    def encoded(text):
        return base64.b64encode((text + "\n#" + "x" * 80).encode()).decode()

    assert changed_words(Change("x", encoded(was), encoded(now))) == said
    assert changed_words(Change("x", "a\nb", "a\n\nb")) == "changed: blank lines"
    assert changed_words(Change("x", "a\n", "a")) == "changed: blank lines"
    assert changed_words(Change("x", None, "a\nb")) == "changed: `+ a`, `+ b`"
    assert changed_words(Change("x", "A" * 100, "/" * 100)) == "changed"
