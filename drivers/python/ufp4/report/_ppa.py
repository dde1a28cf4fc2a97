# SPDX-License-Identifier: Apache-2.0
"""report.html of what ppa has measured: ppa.json."""
from . import _draw

# Units that may be compared: one panel each, by how the names begin.
FAMILIES = (("dot", "dot product"), ("pe_shared", "PE, registers shared"), ("pe_in", "PE in the array"), ("pe", "PE"), ("", "other units"))


def families(rows):
    """[(title, rows)] of those that have any."""
    found = {title: [] for _, title in FAMILIES}
    for row in rows:
        found[next(title for begin, title in FAMILIES if row["unit"].startswith(begin))].append(row)
    return [(title, own) for title, own in found.items() if own]


def front(rows):
    """Those that no other is at least as small and as fast as, from the fastest on."""
    kept = []
    for row in sorted(rows, key=lambda row: (row["delay_ns"], row["area_um2"])):
        if not kept or row["area_um2"] < kept[-1]["area_um2"]:
            kept.append(row)
    return kept


def pareto(rows):
    """As _draw.picture gives it."""
    groups = families(rows)
    with _draw.picture(4.2 * len(groups), 3.4, panels=len(groups), squeeze=False) as (axes, out):
        for (title, own), panel in zip(groups, axes[0]):
            best = front(own)
            panel.step([row["delay_ns"] for row in best], [row["area_um2"] for row in best], where="post", color=_draw.GRID, zorder=0)
            for i, row in enumerate(own):
                panel.plot(row["delay_ns"], row["area_um2"], "o" if row in best else "x", color=_draw.color(i))
                panel.annotate(row["unit"], (row["delay_ns"], row["area_um2"]), textcoords="offset points", xytext=(5, 3), fontsize=7)
            panel.margins(0.25)
            panel.set_title(title)
            panel.set_xlabel("delay, ns")
            panel.set_ylabel("area, um2")
            panel.grid()
    return out


PARTS = (("gates", "#0969da"), ("flip_flops_data", "#1a7f37"), ("flip_flops_clock", "#9a6700"), ("leakage", "#8c959f"), ("clock_pins", "#d4a72c"))


def bars(energies):
    """Bars from left to right: what a MAC takes of each part."""
    with _draw.picture(9, 1.2 + 0.22 * len(energies)) as (axes, out):
        left, drawn = [0.0] * len(energies), {}
        for part, color in PARTS:
            values = [one[f"{part}_fj"] for _, one in energies]
            drawn[part.replace("_", " ")] = axes.barh(range(len(energies)), values, left=left, color=color)
            left = [a + b for a, b in zip(left, values)]
        axes.set_yticks(range(len(energies)), [f"{unit}, {one['data']} {one['elements']}, {one['load']}" for unit, one in energies])
        axes.invert_yaxis()
        axes.set_xlabel("fJ a MAC" + "; of lanes and QUANT a number" * any(unit.startswith(("lane", "quant")) for unit, _ in energies))
        _draw.legend(axes, drawn)
    return out


def html(document):
    """The page of a document, as ppa.json has it."""
    import markupsafe
    rows = [row for row in document["rows"] if row["area_um2"] > 0]
    energies = [(row["unit"], one) for row in document["rows"] for one in row.get("energy", ())]
    best = [row["unit"] for _, own in families(rows) for row in front(own)]
    return _draw.page("ppa.html", title="Area and delay", document=document, best=best, energies=energies,
                      pareto=markupsafe.Markup(pareto(rows)["svg"] if rows else ""), energy=markupsafe.Markup(bars(energies)["svg"] if energies else ""))
