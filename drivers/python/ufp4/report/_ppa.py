# SPDX-License-Identifier: Apache-2.0
"""report.html of ppa's measurements in ppa.json."""

from . import _draw

# Comparable units, which do the same work: one panel each, by prefixes of the names. Other units are only in the table.
FAMILIES = (
    ("dot", "dot product"),
    ("pe_shared", "PE, registers shared"),
    ("pe_in", "PE in the array"),
    (("pe_f", "pe_nv"), "PE, other contracts, and for FPGAs"),
    ("pe", "PE"),
    ("sram", "parity of a memory"),
)
ABREAST = 2  # panels


def families(rows):
    """Returns [(title, rows)] of the families that have rows."""
    found = {title: [] for _, title in FAMILIES}
    for row in rows:
        title = next((title for begin, title in FAMILIES if row["unit"].startswith(begin)), None)
        if title:
            found[title].append(row)
    return [(title, own) for title, own in found.items() if own]


def front(rows):
    """Returns the units for which no other one is at least as small and as fast, fastest first."""
    kept = []
    for row in sorted(rows, key=lambda row: (row["delay_ns"], row["area_um2"])):
        if not kept or row["area_um2"] < kept[-1]["area_um2"]:
            kept.append(row)
    return kept


def pareto(groups):
    """Draws panels of families' results in the format of _draw.picture."""
    with _draw.picture(4.5 * len(groups), 3.4, panels=len(groups), squeeze=False) as (axes, out):
        for (title, own), panel in zip(groups, axes[0]):
            best = front(own)
            panel.step(
                [row["delay_ns"] for row in best],
                [row["area_um2"] for row in best],
                where="post",
                color=_draw.GRID,
                zorder=0,
            )
            for i, row in enumerate(own):
                panel.plot(row["delay_ns"], row["area_um2"], "o" if row in best else "x", color=_draw.color(i))
                panel.annotate(
                    row["unit"],
                    (row["delay_ns"], row["area_um2"]),
                    textcoords="offset points",
                    xytext=(5, 3),
                    fontsize=7,
                )
            panel.margins(0.35, 0.25)
            panel.set_title(title)
            panel.set_xlabel("delay, ns")
            panel.set_ylabel("area, um2")
            panel.grid()
    return out


PARTS = (
    ("gates", "#0969da"),
    ("flip_flops_data", "#1a7f37"),
    ("flip_flops_clock", "#9a6700"),
    ("leakage", "#8c959f"),
    ("clock_pins", "#d4a72c"),
)
# The event to which an energy belongs, by prefixes of the unit's name. Each has its own picture and table, because a
# number in QUANT takes as much as 20 MACs, and one in a lane a fifth of a MAC.
SPENT = (("lane", "a number that a lane reads"), ("quant", "a number that QUANT reads"), ("", "a MAC"))


def spent(rows):
    """Returns [(event, [(unit, energy)])], MACs first."""
    found = {words: [] for _, words in reversed(SPENT)}
    for row in rows:
        found[next(words for begin, words in SPENT if row["unit"].startswith(begin))] += [
            (row["unit"], one) for one in row.get("energy", ())
        ]
    return [(words, own) for words, own in found.items() if own]


def bars(words, energies):
    """Draws bars: the energy of each part, and the sum at the end."""
    with _draw.picture(9, 1.0 + 0.22 * len(energies)) as (axes, out):
        left, drawn = [0.0] * len(energies), {}
        for part, color in PARTS:
            values = [one[f"{part}_fj"] for _, one in energies]
            drawn[part.replace("_", " ")] = axes.barh(range(len(energies)), values, left=left, color=color)
            left = [a + b for a, b in zip(left, values)]
        for i, end in enumerate(left):
            axes.annotate(f"{end:.1f}", (end, i), textcoords="offset points", xytext=(3, 0), va="center", fontsize=7)
        axes.set_yticks(
            range(len(energies)), [f"{unit}, {one['data']} {one['elements']}, {one['load']}" for unit, one in energies]
        )
        axes.set_xlim(0, 1.08 * max(left) or 1)
        axes.set_ylim(len(energies) - 0.5, -0.5)
        axes.set_xlabel(f"fJ {words}, with the clock pins")
        _draw.legend(axes, drawn)
    return out


def html(document):
    """Makes the page from ppa.json."""
    import markupsafe

    groups = families(row for row in document["rows"] if row["area_um2"] > 0)
    energies = [(words, own, markupsafe.Markup(bars(words, own)["svg"])) for words, own in spent(document["rows"])]
    best = [row["unit"] for _, own in groups for row in front(own)]
    pictures = [markupsafe.Markup(pareto(groups[i : i + ABREAST])["svg"]) for i in range(0, len(groups), ABREAST)]
    return _draw.page(
        "ppa.html", title="Area and delay", document=document, best=best, pictures=pictures, energies=energies
    )
