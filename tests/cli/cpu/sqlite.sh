# sqlite.sh: Debian's sqlite3, unmodified and without frame pointers: unchanged output, complete stacks, time in the
# expected functions, and figures that agree with each other and with the kernel's.
# measures: shares of CPU time
. "$(dirname "$0")/../lib.sh"
need sqlite3 jq

sql=$repo/examples/orders.sql
sqlite3 :memory: ".read $sql" >expected
"$SONDE" record -q -o s.sonde -- sqlite3 :memory: ".read $sql" >got 2>said || fail "sqlite3 ended with $?: $(cat said)"
cmp expected got || fail "sqlite3 writes something else when it is recorded"
[ -s said ] && fail "-q says: $(cat said)"

run 0 "$SONDE" report --json --section summary,functions,calltree,threads,processes -n 100000 s.sonde
cp .out r.json
figure() { # NAME
	metric s.sonde "$1"
}
wall=$(figure timing.wall_time_s) cpu=$(figure timing.cpu_time_s) samples=$(figure samples.count)
sampled=$(figure samples.cpu_time_s) complete=$(figure samples.complete_percent)
holds "$cpu > 0.5 && $wall >= 0.95 * $cpu"
holds "$complete >= 97"
holds "$sampled > 0.95 * $cpu && $sampled < 1.05 * $cpu + $(figure timing.stolen_time_s)"
holds "$samples > 0.8 * 1000 * $cpu && $samples < 1.2 * 1000 * $cpu"

# Self times add up to the total, nothing exceeds it, and the interpreter loop is below nearly everything.
read -r self largest vdbe < <(jq -r '.sections[] | select(.id == "functions").rows |
	"\(map(select(.samples).self_share) | add) \(map(.total_share) | max) \(map(select(.function == "sqlite3VdbeExec"))[0].total_share)"' r.json)
holds "$self > 0.999 && $self < 1.001"
holds "$largest <= 1"
holds "$vdbe > 0.9"
equal "$(jq -r '[.sections[] | select(.id == "threads").rows[].samples] | add' r.json)" "$samples"
equal "$(jq -r '.sections[] | select(.id == "processes").rows | length' r.json)" 1
equal "$(jq -r '.sections[] | select(.id == "processes").rows[0].status' r.json)" "exit 0"

# The folded stacks have the same time and start at the thread's root.
run 0 "$SONDE" export -f folded -o - s.sonde
cp .out folded
folded=$(awk '{ sum += $NF } END { print sum }' folded)
[ "$folded" -gt 0 ] || fail "the folded stacks are empty"
rooted=$(awk '/(^|;)__libc_start_main[^;]*;/ { sum += $NF } END { print sum + 0 }' folded)
unwound=$(awk '!/^[^;]*;\[[^];]*\] [0-9]+$/ { sum += $NF } END { print sum + 0 }' folded) # time measured in the kernel has no stack
holds "$rooted >= 0.97 * $unwound && $unwound >= 0.5 * $folded" "$rooted of $unwound, of $folded"

# The flame graph is well-formed XML and has the hot functions.
run 0 "$SONDE" report -o flame.svg s.sonde
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' flame.svg || fail "flame.svg is no XML"
grep -q sqlite3VdbeExec flame.svg || fail "the flame graph lacks the interpreter"

# The library has one name from both sources: the loader uses a symlink, the kernel does not.
library=$(ldd "$(command -v sqlite3)" | awk '$1 ~ /^libsqlite3/ { print $3 }')
[ -n "$library" ] || skip "sqlite3 is linked statically here"
"$SONDE" record -q --io -o io.sonde -- sqlite3 x.db 'create table t (a); insert into t values (1)'
for file in s.sonde io.sonde; do
	equal "$("$SONDE" query -f csv $file "select path from modules where path like '%libsqlite3%'" | sed 1d | tr -d '\r"')" "$(realpath "$library")"
done
