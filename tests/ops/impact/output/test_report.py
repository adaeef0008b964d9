"""The comment: short, whole, and nothing that a stack file holds can break out of it."""

import json

from ops.impact.drift import CLASS_TYPE, POOL_TYPE
from ops.impact.limits import parse, verdicts
from ops.impact.output.document import document
from ops.impact.output.report import report
from ops.impact.output.words import value
from ops.impact.plan import DEPLOYMENT
from ops.markdown import code
from tests.ops.impact.plans import PREFIX, changed, key, pod, predicted, resource, server, spec
from tests.ops.impact.servers.test_servers import MISSES, flag, keeps, two


def everything(document):
    flag(document)
    spec(document, CLASS_TYPE)["amiSelectorTerms"] = [{"alias": "al2023@v2"}]
    document["resources"] += [
        server("more", action="create"),
        resource("aws:s3/bucket:Bucket", "models", {}, action="replace", changed={"bucket": "update-replace"}),
        resource("aws:ec2/vpc:Vpc", "network", {}, action="replace", changed={"cidrBlock": "update-replace"}),
        resource("aws:iam/role:Role", "old", {}, action="delete", parent="urn:pulumi:dev::p::a:b:PodIdentity::old"),
    ]
    document["outputs"]["servers"]["more"] = {"predicted": predicted(freshNode=176.0)}
    document["outputs"]["servers"]["chat"]["predicted"] = predicted(freshNode=170.0, warmNode=130.0, restart=77.0)
    document["outputs"]["gpuPools"]["l40s"].update(maxGpus=6)
    document["messages"] = [{"severity": "warning", "text": "look `here`", "urn": None}]


def prices(tree):
    tree["gpuPools"]["l40s"]["prices"] = {"g6e.2xlarge": 2.5, "g6e.4xlarge": 3}
    tree["servers"]["more"] = {"model": {"uri": "s3://models/more/"}}


KEYS = (key(), key("new", **{"flag.max-num-seqs": 512}))


def test_a_whole_comment():
    impact = changed(everything, tree=prices, keys=KEYS, misses=MISSES)
    assert report(impact, verdicts(impact, [parse("cold-compile")])) == COMMENT


COMMENT = """\
### What this change does to stack `dev`

From `main` to `tree`: 1 created, 2 replaced, 1 deleted, 4 unchanged. Compared without a cloud; components and \
providers are not counted.

**Beyond a limit**

- --fail-on cold-compile: server chat: its cache key moves: flag.max-num-seqs

**Servers**

- **`chat`**: cold compile, pods restart, nothing serves for up to 214 s
  - cache: the key moves (`flag.max-num-seqs` `256` -> `512`); the base archive still fits, so torch.compile alone \
runs again. No candidate can hold this, so it cannot be built first: `.venv/bin/python -m ops cache build \
--server chat --stack dev` right after `up`
  - pods: `spec.containers[vllm].args[--max-num-seqs]` `256` -> `512`
  - nothing serves for about 121 s (restart on g6e.2xlarge: 77 s + 44 s until a cache is built), at the rollout, which \
ends the old pods first
  - nothing serves for about 214 s (fresh node on g6e.2xlarge: 170 s + 44 s until a cache is built), once more for \
each replacement of its node
- **`more`**: new; it serves about 176 s after `up` from nothing, and longer until its cache is built
  - weights: no server had `s3://models/more/` before; unless they are there (`.venv/bin/python -m ops preflight \
--stack dev` tells), before `up`: `.venv/bin/python -m ops weights onboard --server more --stack dev \
--repository OWNER/NAME --revision COMMIT`
  - cache: `.venv/bin/python -m ops cache build --server more --stack dev` right after `up`

**Nodes that are replaced**

- pool `l40s`: at most 4 nodes, one at a time, in the window `0 9 * * sun UTC for 6h`: `EC2NodeClass amiSelectorTerms` \
`al2023@v1` -> `al2023@v2`

**Replaced and deleted**

- **bucket `models`**: replaced, forced by `bucket`
- `aws:ec2/vpc:Vpc` `network`: replaced, forced by `cidrBlock`
- `PodIdentity old`: 1 deleted

**Cost** (USD an hour, on-demand list price, at most)

- runs all the time: +3.00: server more none -> 1 GPU (0.00 -> 3.00)
- GPU ceiling of pool l40s 4 GPU -> 6 GPU (12.00 -> 18.00)

**Predicted starts of `chat`** in seconds, on g6e.2xlarge

| phase | fresh node | warm node | restart |
|---|---:|---:|---:|
| weights | 88.0 -> 85.0 | 65.0 | 38.5 |
| API start | 88.0 -> 85.0 | 65.0 | 38.5 |
| total | 176.0 -> 170.0 | 130.0 | 77.0 |

**Predicted starts of `more`** in seconds, on g6e.2xlarge

| phase | fresh node |
|---|---:|
| total | 176.0 |

**New warnings**

- `look 'here'`

<details><summary>Details</summary>

**Cache key of `chat`**

- `flag.max-num-seqs` `256` -> `512`

**Pod template of `chat`**

- `spec.containers[vllm].args[--max-num-seqs]` `256` -> `512`

**Nodes of `l40s`**

- `EC2NodeClass amiSelectorTerms` `al2023@v1` -> `al2023@v2` (all)

**Replaced and deleted**

- `aws:s3/bucket:Bucket` `models`: replace by `bucket`
- `aws:ec2/vpc:Vpc` `network`: replace by `cidrBlock`
- `aws:iam/role:Role` `old`: delete

</details>
"""


def test_the_json_has_the_same():
    impact = changed(everything, tree=prices, keys=KEYS, misses=MISSES)
    found = json.loads(json.dumps(document(impact, verdicts(impact, [parse("cold-compile")]))))
    chat = found["servers"]["chat"]
    assert chat["cache"]["moved"] == {"flag.max-num-seqs": [256, 512]}
    assert [it["seconds"] for it in chat["interruptions"]] == [121.0, 214.0]
    assert chat["predicted"]["after"]["seconds"]["fresh node"] == 170.0
    assert [(it["pool"], it["atMost"]) for it in found["drift"]] == [("l40s", 4)]
    assert [it["name"] for it in found["ended"]] == ["models", "network", "old"]
    assert found["cost"]["usdPerHour"] == 3.0
    assert found["limits"][0]["passed"]


def test_nothing_is_said_in_a_few_lines():
    assert (
        report(changed(lambda _: None))
        == """\
### What this change does to stack `dev`

From `main` to `tree`: nothing changes (4 resources). Compared without a cloud; components and \
providers are not counted.

**Servers**

- **`chat`**: untouched; cache and pods stay

**Cost**: the same.

**Predicted starts**: the same.
"""
    )


def lines(change, word, **more):
    return [line for line in report(changed(change, **more)).splitlines() if word in line]


def test_what_only_carries_the_fingerprint_is_no_cause_of_its_own():
    def mount(name):
        return lambda it: pod(it)["containers"][0].update(volumeMounts=[{"mountPath": "/c", "subPath": f"chat/{name}"}])

    def both(document):
        mount("new")(document)
        flag(document)

    said = "  - pods: `spec.containers[vllm].args[--max-num-seqs]` `256` -> `512`, and what carries the fingerprint"
    assert lines(both, "- pods", before=mount("old"), keys=KEYS) == [said]


def test_a_surge_says_what_it_needs():
    def surge(document):
        spec(document, DEPLOYMENT)["strategy"] = {"type": "RollingUpdate"}
        flag(document)

    assert lines(surge, "  - serves on") == [
        "  - serves on: the new pod comes beside the old one (surge) and needs 1 free GPU of pool `l40s`, which may"
        " have 4 GPU"
    ]
    assert "- **`chat`**: pods restart, it serves on" in report(changed(surge))


def test_more_replicas_and_pods_that_move_are_said():
    assert lines(two, "- **`chat`**")[0] == "- **`chat`**: pods stay"
    assert lines(two, "  - replicas") == ["  - replicas: 1 -> 2, which restarts no pod"]

    def drift(document):
        spec(document, CLASS_TYPE)["userData"] = "x"

    assert lines(drift, "- **`chat`**", before=two) == [
        "- **`chat`**: its pods go with their nodes one at a time, it serves on"
    ]


def test_a_cache_that_is_given_up_is_said():
    assert lines(keeps(""), "- **`chat`**", keys=KEYS) == ["- **`chat`**: cold compile, pods stay"]
    assert lines(keeps(""), "cache:", keys=KEYS) == [
        "  - cache: it keeps none any more, so every start compiles from now on"
    ]


def test_a_candidate_is_named_where_one_can_be_built_and_where_it_was():
    version = key(), key("new", **{"engine.version": "2"})
    asked = {"tree": lambda it: it["servers"]["chat"]["engine"].update(version="2"), "keys": version}
    assert lines(flag, "cache:", **asked) == [
        "  - cache: the key moves (`engine.version` `1` -> `2`); the base archive still fits, so torch.compile alone"
        " runs again. Build it first: the new engine below `servers.chat.candidate`, `up`,"
        " `.venv/bin/python -m ops cache build --server chat --stack dev --candidate`"
    ]
    assert lines(flag, "cache:", **asked, candidates={"chat": f"{PREFIX}new/"}) == [
        "  - cache: the key moves (`engine.version` `1` -> `2`) to that of its candidate: no cold compile when that was"
        " built (`.venv/bin/python -m ops cache ls`)"
    ]


def test_a_time_that_nobody_knows_is_said():
    assert lines(flag, "not known", keys=KEYS) == [
        "- **`chat`**: cold compile, pods restart, nothing serves for a time that is not known",
        "  - nothing serves for a time that is not known (predicted 77 s, and a compile), at the rollout, which ends"
        " the old pods first",
    ]


def test_a_pool_that_goes_and_one_that_is_never_updated():
    def gone(document):
        document["resources"] = [it for it in document["resources"] if it["type"] not in {POOL_TYPE, CLASS_TYPE}]

    assert lines(gone, "- pool") == [
        "- pool `l40s`: at most 4 nodes, with `up`, whatever the window says: the pool goes"
    ]

    def drift(document):
        spec(document, CLASS_TYPE)["userData"] = "x"

    never = lines(drift, "- pool", tree=lambda it: it["gpuPools"]["l40s"].update(updateWindow="never"))
    assert never == [
        "- pool `l40s`: at most 4 nodes, not by itself (`updateWindow: never`): they stay as they are until they go:"
        " `EC2NodeClass userData` `#!/bin/sh` -> `x`"
    ]


def test_many_replacements_are_folded_away():
    def many(document):
        document["resources"] += [
            resource("aws:ec2/vpc:Vpc", f"v{it}", {}, action="replace", changed={"x": "update-replace"})
            for it in range(9)
        ]

    whole = report(changed(many))
    shown, _, folded = whole.partition("<details>")
    assert shown.count("replaced, forced by") == 5
    assert "- and 4 more: see the details\n" in shown
    assert folded.count("replace by") == 9


def test_what_nothing_tells_apart_but_its_order_is_said():
    assert lines(lambda it: pod(it)["containers"][0]["env"].reverse(), "- pods") == [
        "  - pods: `spec.containers[vllm].env` in another order"
    ]


def test_no_value_breaks_out_of_its_line():
    hostile = "a`b\n- **x** <!-- | "
    assert code(hostile) == "`a'b - **x** <!-- | `"
    assert value("x" * 100) == f"`{'x' * 60}...`"
    assert [value(it) for it in (None, "", True, 1.5)] == ["absent", '`""`', "`true`", "`1.5`"]

    def inject(document):
        pod(document)["containers"][0]["env"][0]["value"] = hostile

    assert "- **x**" not in [line.lstrip()[:7] for line in report(changed(inject)).splitlines()]
