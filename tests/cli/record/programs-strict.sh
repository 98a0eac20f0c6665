# programs-strict.sh: programs.py reports every way in which a recorded run can differ: extra, missing and changed files, also
# when several happen at once or the content varies anyway.
# tier: quick
. "$(dirname "$0")/../lib.sh"
need python3

cat >strict.py <<'PYTHON'
import sys
import types

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from programs import difference, sameness


def ran(files, **other):
    """A run that left these files: name → content."""
    run = dict(out=b"", err=b"", code=0, is_hung=False, left=0, files={name: ("0o100644", text) for name, text in files.items()})
    return types.SimpleNamespace(**{**run, **other})


def told(one, two, other):
    ways, why = sameness(one, two)
    assert ways, why
    return difference(one, other, ways)


# Two files; the content of "log" varies without sonde, and one name has a number that varies.
one, two = ran({"a": "1", "log": "x", "core.17": "c"}), ran({"a": "1", "log": "y", "core.18": "c"})
same = ran({"a": "1", "log": "z", "core.19": "c"})
assert told(one, two, same) is None
for wrong, word in (
    ({"log": "z", "core.19": "c"}, "a"),  # missing
    ({"a": "1", "core.19": "c"}, "log"),  # missing; its content varies
    ({"a": "1", "log": "z"}, "core.17"),  # missing; its name varies
    ({"a": "1", "log": "z", "core.19": "c", "new": ""}, "new"),  # extra
    ({"a": "1", "log": "z", "core.19": "c", "core.20": "c"}, "core.20"),  # extra; such a name occurs once
    ({"a": "1", "core.19": "c", "new": ""}, "log"),  # extra and missing
    ({"a": "1", "log": "z", "new": ""}, "new"),  # extra, and missing with a name that varies
    ({"a": "2", "log": "z", "core.19": "c"}, "file a"),  # changed
):
    what = told(one, two, ran(wrong))
    assert what and word in what, (wrong, what)

# Where names vary by more than numbers, nothing can be compared.
bare, later = b"bash: line 1:  4711 Killed  sleep\n", b"bash: line 1: 14711 Killed  sleep\n"
assert told(ran({}, err=bare), ran({}, err=bare.replace(b"11", b"12")), ran({}, err=later)) is None, "padded process ids"
assert told(ran({}, err=b"a 1"), ran({}, err=b"a 2"), ran({}, err=b"a  3")), "a blank"
ways, why = sameness(ran({"tmp.ab": ""}), ran({"tmp.cd": ""}))
assert ways is None and "tmp.ab" in why, why

for field, value in (("out", b"x"), ("err", b"x"), ("code", 1), ("left", 1)):
    assert told(one, two, ran({"a": "1", "log": "z", "core.19": "c"}, **{field: value})), field
assert told(one, two, ran({}, is_hung=True, seconds=61, shown="")), "hung"
print("all of it")
PYTHON
run 0 python3 strict.py "$repo/tests/cli"
equal "$out" "all of it"
