# SPDX-License-Identifier: Apache-2.0
"""The launcher, with tools that do nothing: packages that another program is installing, and a checkout that was moved
or copied after a build. test_launcher.py ROOT [TEST]"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
# As apt 2.6 says it; the lists' lock it does not wait for, whatever its options.
LISTS = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 812 (apt-get)"
DPKG = ("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 812 (unattended-upgr)\n"
        "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?")
STUBS = {
    "dpkg-query": 'test ! -e "$STATE/lacks" -o -e "$STATE/installed" && echo ii',
    "sudo": 'shift; exec "$@"',
    "sleep": ":",
    # Refuses as often as the files say.
    "apt-get": """echo "$*" >> "$STATE/apt"
case $* in *update) name=lists ;; *) name=dpkg ;; esac
left=$(cat "$STATE/$name" 2>/dev/null || echo 0)
if [ "$left" != 0 ]; then echo $((left - 1)) > "$STATE/$name"; cat "$STATE/$name.says" >&2; exit 100; fi
[ $name = lists ] || touch "$STATE/installed" """,
    "python3": """mkdir -p "$3/bin"
printf '#!%s/bin/python3\\n' "$3" > "$3/bin/pip"
echo 'echo pip >> "$STATE/apt"' >> "$3/bin/pip"
sed -i 1s,.*,'#!/bin/sh\\n# '"$3"/bin/python3, "$3/bin/pip"
chmod +x "$3/bin/pip" """,
    # As CMake does, it refuses a folder that was configured from or for another place.
    "cmake": """while [ $# -gt 0 ]; do case $1 in -S) source=$2 ;; -B) build=$2 ;; esac; shift; done
cache=$build/CMakeCache.txt
if [ -e "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$source" "$cache"; then
  echo "CMake Error: The source \\"$source/CMakeLists.txt\\" does not match the source used to generate cache." >&2
  exit 1
fi
printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\\nCMAKE_CACHEFILE_DIR:INTERNAL=%s\\n' "$source" "$build" > "$cache"
touch "$build/build.ninja"; echo configured >> "$STATE/cmake" """,
    "ninja": """test -e "$2/build.ninja" || exit 1
mkdir -p "$2/drivers"; printf '#!/bin/sh\\necho here: "$0"\\n' > "$2/drivers/ufp4"; chmod +x "$2/drivers/ufp4" """,
}


def prepare(folder):
    """A checkout that has nothing but the launcher."""
    tree, tools, state = folder / "tree", folder / "tools", folder / "state"
    for made in (tree, tools, state):
        made.mkdir()
    shutil.copy(ROOT / "ufp4", tree / "ufp4")
    for name, body in STUBS.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    return tree


def launch(tree, *words):
    folder = tree.parent
    env = os.environ | {"PATH": f"{folder / 'tools'}:{os.environ['PATH']}", "STATE": str(folder / "state")}
    env.pop("UFP4_BUILD", None)
    done = subprocess.run([tree / "ufp4", *words], env=env, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def lacks_packages(folder, **locked):
    (folder / "state/lacks").touch()
    for name, (times, words) in locked.items():
        (folder / "state" / name).write_text(str(times))
        (folder / "state" / f"{name}.says").write_text(words + "\n")


def asked(folder):
    return (folder / "state/apt").read_text().splitlines()


def test_waits_for_the_locks_of_apt_and_dpkg(folder):
    tree = prepare(folder)
    lacks_packages(folder, lists=(2, LISTS), dpkg=(3, DPKG))
    status, out, err = launch(tree, "fpga-tools")
    assert (status, out) == (0, f"{tree}/build/release/fpga-venv/bin\n"), (status, out, err)
    assert err.count("waiting for another program that installs packages") == 2, err
    words = asked(folder)
    assert [sum(w in line for line in words) for w in (" update", " install ")] == [3, 4], words
    assert all("DPkg::Lock::Timeout=600" in line for line in words if line != "pip"), words


def test_rejects_packages_that_are_not_there(folder):
    """Another failure of apt is not waited for."""
    tree = prepare(folder)
    lacks_packages(folder, dpkg=(1, "E: Unable to locate package verilator"))
    status, out, err = launch(tree, "fpga-tools")
    assert status == 3 and "Unable to locate package" in err and "waiting" not in err, (status, out, err)
    assert len(asked(folder)) == 2, asked(folder)


def test_a_moved_or_copied_checkout_is_configured_anew(folder):
    tree = prepare(folder)
    assert launch(tree, "info")[:2] == (0, f"here: {tree}/build/release/drivers/ufp4\n")
    for again, move in enumerate((shutil.copytree, shutil.move)):
        other = folder / f"other{again}"
        move(tree, other)
        for third in range(2):
            status, out, err = launch(other, "info")
            assert (status, out) == (0, f"here: {other}/build/release/drivers/ufp4\n"), (status, out, err)
            assert ("was configured for another place" in err) == (third == 0), err
    assert (folder / "state/cmake").read_text().count("configured") == 3


def test_python_environments_of_a_moved_checkout_are_made_anew(folder):
    tree = prepare(folder)
    for _ in range(2):
        assert launch(tree, "fpga-tools")[0] == 0
        assert asked(folder) == ["pip"], asked(folder)
    other = folder / "other"
    shutil.move(tree, other)
    assert launch(other, "fpga-tools")[:2] == (0, f"{other}/build/release/fpga-venv/bin\n")
    assert asked(folder) == ["pip", "pip"], asked(folder)


if __name__ == "__main__":
    wanted = sys.argv[2:] or [name for name in dir() if name.startswith("test_")]
    for test in wanted:
        with tempfile.TemporaryDirectory() as place:
            globals()[test](pathlib.Path(place).resolve())
