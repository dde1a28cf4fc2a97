# SPDX-License-Identifier: Apache-2.0
"""usage: seeds.py PROPERTY: what is random in the tests draws by UFP4_TEST_SEED (docs/howto/add-test.md)."""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
# A generator with a constant seed, which would always draw the same numbers, or one that cannot be repeated.
CONSTANT = re.compile(
    r"""check_random_t\ \w+\ =\ \{\s*\d | \bstate\ =\ \d+[;,}] | mt19937\w*\ \w+\(\d | \bsrand\( | random_device
  | \b(Random|default_rng|manual_seed)\(\d | derandomize=True | \brandom\.(random|gauss|randrange|choice|randint)\(
  | vectors\b.*--seed["', ]+\d | rig_open\(\d+\) | stall_seed\ =\ [1-9]
  | \bwire_open\((?!0,\ 1\)|uint32_t\ |.*check_stream\()""",
    re.VERBOSE,
)
# Files where that is intended, with the reason.
MEANT = {
    "tests/driver/test_systemc.c": "refuses every stall seed",
    "tests/e2e/checkpoints/make_checkpoints.py": "makes files that are committed",
    "tests/train/witness_torch.py": "its distances were seen with one text",
    "tests/fuzz/fuzz_gemm.c": "a state that is not used",
    "tests/fuzz/seeds.c": "where fuzzing starts",
    "tests/python/bench_torch.py": "a bench",
    "tests/python/run_on_gpu.py": "a record of a GPU, to be compared with another one",
    "tests/rtl/mutation/run.py": "the mutants are a sample too, and their number is compared",
    "tests/rtl/speed/bench_speed.cpp": "a bench",
    "tests/seeds.py": "names what it looks for",
}
SOURCES = {".c", ".cpp", ".h", ".py", ".sh", ".txt", ".cmake"}


def constants():
    """Returns {file: ["file:line: text" of each place]}."""
    found = {}
    for path in sorted(HERE.rglob("*")):
        if path.suffix not in SOURCES or not path.is_file():
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if CONSTANT.search(line):
                found.setdefault(str(path.relative_to(ROOT)), []).append(
                    f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
                )
    return found


def no_test_draws_from_a_constant():
    found = constants()
    wrong = [line for file, lines in found.items() if file not in MEANT for line in lines]
    wrong += [f"{file}: nothing is constant there" for file in MEANT if file not in found]
    if wrong:
        sys.exit("\n".join(wrong))


def launched(seed, label):
    """Returns status, stdout and stderr of the launcher's choose_seed; label: () with --full, (-LE full) without."""
    script = (
        f'source <(sed -n "/^say()/p; /^refuse()/p; /^choose_seed()/,/^}}/p" {ROOT / "ufp4"}); '
        f"test_label={label}; {seed}; choose_seed; printenv UFP4_TEST_SEED"
    )
    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout.strip(), done.stderr


def launcher_draws_one_for_the_long_tests():
    draws = {launched("unset UFP4_TEST_SEED", "()")[1] for _ in range(4)}
    fixed = launched("unset UFP4_TEST_SEED", "(-LE full)")[1]
    given = [launched("UFP4_TEST_SEED=12", label)[1] for label in ("()", "(-LE full)")]
    if len(draws) < 3 or fixed != "0" or given != ["12", "12"]:
        sys.exit(f"with --full {draws}, without {fixed}, given 12 {given}")


def rejects_a_seed_that_is_no_number():
    for seed in ("x", "-1", "1.5", "2147483648", "99999999999", "0x10", "007"):
        status, _, error = launched(f"UFP4_TEST_SEED={seed}", "(-LE full)")
        if status != 2 or "it must be a number from 0 to 2147483647" not in error:
            sys.exit(f"{seed}: status {status}, {error}")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
