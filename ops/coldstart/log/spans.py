"""The phases between the markers of one start."""

from collections.abc import Mapping

from ops.coldstart.log.markers import Name
from ops.coldstart.record import Span
from serving.budget.timeline import Phase

_Bound = tuple[Phase, float | None, float | None]
"""A phase, when it begins at the earliest, and its end; None: nothing shows that."""


def spans(
    at: Mapping[Name, float], took: Mapping[Name, float], zero: float, *, kernels_first: bool, compiles: bool = True
) -> dict[Phase, Span]:
    """Return the phases that the markers of one start show, cut one after another.

    Args:
        at: when each marker was seen.
        took: the seconds that it says.
        zero: when the start began, by the same clock.
        kernels_first: kernels are built before graphs are captured, else after.
        compiles: the engine runs torch.compile, so what follows the weights is not graphs yet.
    """
    graphs_begin = None
    if kernels_first and {"cache sized", "captured"} <= at.keys():
        graphs_begin = at["captured"] - took.get("captured", 0.0)
    built = at.get("kernels built") if graphs_begin is None else graphs_begin
    # a CPU's worker says no more of the model than that
    loaded = at.get("loaded", at.get("weights read"))
    loading = at.get("loading", at["loaded"] - took.get("loaded", 0.0) if "loaded" in at else None)
    bounds: list[_Bound] = [
        # a log that begins with the version does not know when its process began
        ("imports", zero if zero < at.get("version", zero) else None, at.get("version")),
        ("model inspection", at.get("version"), at.get("resolved")),
        ("engine imports", at.get("resolved"), loading),
        ("weights", loading, loaded),
        ("compile", at["compiled"] - took.get("compiled", 0.0) if "compiled" in at else None, at.get("compiled")),
    ]
    graphs: _Bound = (
        ("graphs", graphs_begin, at.get("captured"))
        if kernels_first
        else ("graphs", at.get("compiled", None if compiles else loaded), at.get("captured", at.get("cache sized")))
    )
    kernels: _Bound = (
        "kernels",
        at.get("cache sized") if kernels_first else at.get("captured", at.get("cache sized")),
        built,
    )
    bounds += [kernels, graphs] if kernels_first else [graphs, kernels]
    bounds.append(("API start", at.get("initialised", at.get("kernels built")), at.get("listening soon")))
    cut: dict[Phase, Span] = {}
    passed = zero
    for phase, begin, end in bounds:
        if begin is None or end is None:
            continue
        # what a clock that was set back puts behind the server's line is cut there
        over = min(end, at.get("serving", end))
        if over >= max(begin, passed):
            cut[phase] = Span(begin=round(max(begin, passed) - zero, 3), end=round(over - zero, 3))
            passed = over
    return cut
