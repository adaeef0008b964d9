"""Results of the real tools, and the comment that is made of them (docs/pull-requests.md).

Made anew by `.venv/bin/python -m tests.ops.review.snapshots`, which takes a minute or two: a repository of its own gets
the program as it stands here, a pull request changes all three stack files, and `ops review rehearse` looks at each.
"""
