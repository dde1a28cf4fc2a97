# SPDX-License-Identifier: Apache-2.0
"""The Pareto front of an exploration by area and energy."""

from . import _draw


def places(cases):
    """Returns [(case, mm2 per TMAC/s, tokens per joule, whether it is on the front)], smallest area first, for cases
    that have both. A case is on the front if it has more tokens per joule than all that are as small, as in worth.c of
    drivers/tools/explore."""
    found = [
        (case, float(case.step["mm2_per_tmacs"]), float(case.step["tokens_per_joule"]))
        for case in cases
        if case.step.get("mm2_per_tmacs") and case.step.get("tokens_per_joule")
    ]
    out, most = [], 0.0
    for case, area, tokens in sorted(found, key=lambda place: (place[1], -place[2])):
        out.append((case, area, tokens, tokens > most))
        most = max(most, tokens)
    return out


def picture(found):
    """Draws a point for each case, and a line through those on the front; nothing for fewer than two."""
    if len(found) < 2:
        return ""
    front = [(area, tokens) for _, area, tokens, first in found if first]
    drawn = {}
    with _draw.picture(9, 3.2 + 0.2 * len(found)) as (axes, out):
        axes.plot(*zip(*front), color="#999999", linestyle="--", drawstyle="steps-post", zorder=1)
        for i, (case, area, tokens, first) in enumerate(found):
            (drawn[case.name],) = axes.plot(
                area, tokens, "o", color=_draw.color(i), markersize=8, markerfacecolor=None if first else "none"
            )
        axes.grid()
        axes.set_title("tokens a joule; filled: no case is as small and gives as many")
        axes.set_xlabel("mm2 of a TMAC/s, memories included")
        axes.margins(0.1)
        _draw.legend(axes, drawn, 1)
    return out["svg"]
