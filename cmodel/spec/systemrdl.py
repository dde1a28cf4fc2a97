# SPDX-License-Identifier: Apache-2.0
"""Writes the registers as a SystemRDL 2.0 address map."""

import manifests

ACCESS = {"ro": ("r", "w"), "rw": ("rw", "r"), "wo": ("w", "r"), "w1c": ("rw", "w")}  # software, hardware


def text(doc):
    return doc.replace('"', "'")


def reset_value(spec, r):
    """Returns the value of a register after reset, or None if the core's parameters determine it."""
    value = {"id": spec["id"], "version": manifests.version_word(spec)}.get(r["name"], r.get("reset", 0))
    return None if value == "parameters" else value


def field(name, msb, lsb, access, doc, reset, test):
    software, hardware = ACCESS[access]
    extra = " onwrite = woclr;" if access == "w1c" else " singlepulse;" if access == "wo" else ""
    extra += "" if test else " donttest;"
    start = "" if reset is None else f" = 0x{reset >> lsb & (1 << msb - lsb + 1) - 1:X}"
    return f'    field {{ desc = "{text(doc)}"; sw = {software}; hw = {hardware};{extra} }} {name}[{msb}:{lsb}]{start};'


def register(name, doc, access, fields, where, reset=0, test=True):
    if reset is None:
        doc += "; no reset value here: the core's parameters decide"
    out = ["  reg {", f'    desc = "{text(doc)}";']
    out += [field(n, msb, lsb, access, d, reset, test) for n, msb, lsb, d in fields]
    return out + [f"  }} {name} @ {where};", ""]


def system_rdl(spec, note):
    window = spec["register_window"]
    out = [
        f"// {note}",
        "// SPDX-License-Identifier: Apache-2.0",
        "addrmap ufp4 {",
        '  name = "ufp4";',
        (
            '  desc = "Registers of the ufp4 tensor core, on AXI4-Lite. Reads of other offsets give zero, '
            'writes to them are ignored.";'
        ),
        "  default regwidth = 32;",
        "  default accesswidth = 32;",
        "  littleendian;",
        "",
    ]
    for r in spec["register"]:
        fields = r.get("fields", [["value", 31, 0, r["doc"]]])
        out += register(
            r["name"], r["doc"], r["access"], fields, f"0x{r['offset']:X}", reset_value(spec, r), r.get("test", True)
        )
    for i, c in enumerate(spec["counter"]):
        at = window["counter_base"] + 8 * i
        for half, lsb in (("lo", 0), ("hi", 32)):
            doc = f"{c['doc']}; bits {lsb + 31}..{lsb}, as of the last snapshot"
            out += register(f"{c['name']}_{half}", doc, "ro", [["value", 31, 0, doc]], f"0x{at + lsb // 8:X}")
    out += register(
        f"slot[{spec['limit']['slots']}]",
        "exponent slot",
        "ro",
        [["exponent", 15, 0, "the tensor exponent t, two's complement"], ["written", 16, 16, "set once written"]],
        f"0x{window['slot_base']:X} += 0x4",
    )
    return "\n".join(out[:-1] + ["};", ""])
