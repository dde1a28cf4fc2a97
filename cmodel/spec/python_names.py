# SPDX-License-Identifier: Apache-2.0
"""The names and numbers that the Python package needs (drivers/python)."""

CONFIGURATION_NAME = 80  # bytes


def package(spec, note, keys, values_of):
    version = ".".join(str(spec["version"][part]) for part in ("major", "minor", "patch"))
    names = {name: tuple(value for value, _, _ in values) for name, _, values in values_of}
    out = [f"# {note}", "# SPDX-License-Identifier: Apache-2.0", '"""Names and numbers of the formats."""', f'VERSION = "{version}"']
    for name in ("elem", "scale", "dtype", "round", "scale_round", "rht", "layout", "contract"):
        out.append(f"{name.upper()}S = {names[name]!r}".replace("'", '"'))
    out.append(f"SCALE_BLOCK = {tuple(spec['enum']['scale']['block'])!r}")
    out += [f"{key.upper()}S = {sizes!r}" for key, sizes in spec["sizes"].items()]
    out.append(f"ELEM_FRAC = {tuple(f['frac'] for f in spec['format'])!r}")
    out.append(f"MAX_DIM = {spec['limit']['max_dim']}")
    out.append(f"RHT_MASK = 0x{spec['limit']['rht_default_mask']:X}")
    out += [f"FLAG_{flag['name'].upper()} = {1 << flag['bit']}" for flag in spec["flag"]]
    out.append(f"COUNTERS = {tuple(c['name'] for c in spec['counter'])!r}".replace("'", '"'))
    out.append(f"CONFIGURATION_NAME = {CONFIGURATION_NAME}")
    out.append(f"CONFIGURATION_KEYS = {tuple(keys)!r}".replace("'", '"'))
    return "\n".join(out) + "\n"
