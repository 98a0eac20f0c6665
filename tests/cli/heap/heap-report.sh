# heap-report.sh: the heap sections for programs with known answers: what each section shows for the whole run, for a
# part of its time, and for one thread.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
need jq
blocks=$(target blocks) zoned=$(target heap_zones)

record() { # MODE FILE COMMAND…
	run 0 "$SONDE" record -q --heap="$1" --force -o "$2" -- "${@:3}"
}
# section NAME OPTION…: rows of the section, from a.sonde.
section() {
	"$SONDE" report -q --json -n 1000000 --section "$1" "${@:2}" a.sonde >.section 2>.err ||
		fail "no $1: $(cat .err)"
	jq --arg s "$1" '.sections[] | select(.id == $s).rows' .section
}
notes() {
	jq -r '.sections[].notes[].text' .section
}
# of FUNCTION COLUMN: a cell of the rows on standard input.
of() {
	jq -r --arg f "$1" --arg c "$2" '[.[] | select(.function == $f)[$c]] | total'
}
seconds() { # the metric plus this many ns
	printf %.9f "$(calc "$(metric a.sonde memory.heap_peak_at_s) + $1 * 1e-9")"
}

# The whole run, in the text and as metrics.
record full a.sonde "$blocks" known
section heap >heap.json
matches "$(notes)" '^peak 200 kB in 150 blocks at [0-9.]+ s; at exit 10[0-9] kB live in 10[0-9] blocks$'
matches "$(notes)" '^2,1[0-9]{2} allocations of 5\.27 MB \([0-9,]+/s, .*/s\), 9[0-9]\.[0-9] % temporary$'
matches "$(notes)" '^largest block: 10\.0 kB, by moves \(blocks\.c:[0-9]+\), called from do_known'
equal "$(metric a.sonde memory.heap_peak_b)" 200000
equal "$(metric a.sonde memory.heap_largest_b)" 10000
equal "$(metric a.sonde memory.heap_allocations)" "$(jq '[.[].allocations] | add' heap.json)"
equal "$(metric a.sonde memory.heap_allocated_b)" "$(jq '[.[].allocated_b] | add' heap.json)"
equal "$(metric a.sonde memory.heap_left_b)" "$(jq '[.[].left_b] | add' heap.json)"
equal "$(of moves largest_b <heap.json)" 10000
equal "$(of keeps largest_b <heap.json) $(of keeps peak_share <heap.json)" "1000 0.5"

# The peak as a tree from the root.
section peak >/dev/null
equal "$(jq '.sections[0].nodes[0].total' .section)" 200000
equal "$(jq -c '[.sections[0].nodes[] | select(.self > 0) | [.name, .self, .count]] | sort' .section)" \
	'[["keeps",100000,100],["peaks",100000,50]]'
has "$(jq -r '.sections[0].nodes[].name' .section)" do_known

# Temporary blocks: moves and churns free each block before the next allocation, peaks only its last one.
section temporary >temporary.json
equal "$(of churns temporary <temporary.json) $(of moves temporary <temporary.json)" "1000 1000"
equal "$(of peaks temporary <temporary.json) $(of keeps temporary <temporary.json)" "1 0"
equal "$(of churns own_share <temporary.json)" 1
near "$(of churns all_share <temporary.json)" "1000 / $(metric a.sonde memory.heap_allocations)" 1e-9

# Sizes: every block is in one class. 64 B: those of churns, and 70, 80 … 120 B of moves.
equal "$(section sizes | jq '[.[].blocks] | add')" "$(metric a.sonde memory.heap_allocations)"
equal "$(section sizes | jq '.[] | select(.from_b == 64).blocks')" "$(section heap-lines |
	jq '[.[] | select(.function == "churns" or (.function | test("aligned|zeroed|fails"))) | select(.allocated_b / .allocations < 128).allocations] | add + 6')"
equal "$(section sizes | jq '[.[].share] | add > 0.999')" true

# The timeline contains everything that happened, its highest row is the peak, and it ends with the live blocks.
# -n 1000000 makes as many intervals as it may: they are read once.
read -r allocations allocated highest last marked < <(section timeline | jq -r '"\(map(.allocations) | add) \(map(.allocated_b) | add) " +
	"\(map(.peak_b) | max) \(.[-1].live_b) \([.[] | select(.mark == "peak").peak_b] | tojson)"')
equal "$allocations" "$(metric a.sonde memory.heap_allocations)"
equal "$allocated" "$(metric a.sonde memory.heap_allocated_b)"
equal "$highest" 200000
equal "$last" "$(metric a.sonde memory.heap_left_b)"
equal "$marked" '[200000]'
equal "$("$SONDE" report -q --json -n 7 --section timeline a.sonde | jq '.sections[0].rows | length')" 7
equal "$("$SONDE" report -q --json --section timeline a.sonde | jq '.sections[0].rows | [length, ([.[].allocations] | add)] | join(" ")' -r)" \
	"40 $(metric a.sonde memory.heap_allocations)"

# Lines: shown with --section lines, too.
section heap-lines >lines.json
equal "$(jq -r '[.[] | select(.function == "churns").place] | .[0]' lines.json)" \
	"blocks.c:$(awk '/void churns/ { f = 1 } f && /malloc/ { print NR; exit }' "$repo/tests/targets/blocks.c")"
equal "$(of churns allocations <lines.json) $(of keeps left_b <lines.json)" "1000 100000"

# Lines by CPU time, then by heap. Without samples only those of the heap, and the reason.
lines() { # its sections that have rows
	jq -r '[.sections[] | select((.rows | length) > 0).id] | join(" ")'
}
run 0 "$SONDE" record -q --heap=64K -F 4000 --force -o lines.sonde -- "$blocks" sizes 100000 1
equal "$("$SONDE" report -q --json --section lines lines.sonde | lines)" "lines heap-lines"
equal "$("$SONDE" report -q --json --section lines --focus sizes lines.sonde |
	jq -r '.sections[] | select(.id == "lines").rows | any(.total_ns > 0)')" true
run 0 "$SONDE" record -q --heap=full -F 1 --force -o lines.sonde -- "$blocks" known
equal "$("$SONDE" report -q --json --section lines lines.sonde | lines)" heap-lines
has "$("$SONDE" report -q --section lines lines.sonde)" "no CPU samples"

# A part of the time: up to the peak, what is live at the end is the peak; from the peak on, it existed before.
equal "$(section heap --to "$(seconds 1)" | jq '[.[].left_b] | add')" 200000
section heap --from "$(seconds 1)" >from.json
equal "$(of keeps peak_b <from.json) $(of keeps allocations <from.json)" "100000 0"
equal "$(of peaks peak_b <from.json) $(of peaks allocations <from.json)" "100000 0"
equal "$(of peaks left_b <from.json) $(of moves allocations <from.json)" "0 1000"
has "$(notes)" "peak and blocks live at the end include blocks allocated before it"
equal "$(section timeline -n 10000 --from "$(seconds 1)" | jq '[.[].allocations] | add')" "$(jq '[.[].allocations] | add' from.json)"

# Threads: the one that allocated, and the one that freed.
record full a.sonde "$blocks" threads
equal "$(section heap-threads | jq '[.[] | select(.allocated_b == 32000)] | length')" 8
equal "$(section heap-threads | jq '[.[] | select(.allocated_b == 32000).left_b] | add')" 0
tid=$(section heap-threads | jq '[.[] | select(.allocated_b == 32000).tid][3]')
equal "$(section heap --thread "$tid" | jq -c '[.[] | [.function, .peak_b, .allocations, .left_b]]')" '[["gives",32000,1000,0]]'
equal "$(section timeline -n 10000 --thread "$tid" | jq '[.[].allocations] | add')" 1000
section peak --thread "$tid" >/dev/null
equal "$(jq '.sections[0].nodes[0].total' .section)" 32000

# Several processes: each at its own peak, each a branch of the tree.
record full a.sonde sh -c '"$0" known && "$0" threads && true' "$blocks"
section peak >/dev/null
equal "$(jq '[.sections[0].nodes[] | select(.parent == 0 and (.name | startswith("blocks ("))).total >= 200000] | length' .section)" 2
has "$(section heap >/dev/null; notes)" "processes, each at its own peak"
matches "$(section heap >/dev/null; notes)" '^blocks \([0-9]+\): peak 200 kB in 150 blocks'

# Zones: their exact effect on the heap, because events of a process with zones have their own times.
record full a.sonde "$zoned"
equal "$out" zones
zones() {
	section heap-zones | jq -c "[.[] | select(.zone == \"$1\") | .calls, .change_b, .peak_b, .allocated_b, .allocations, .frees]"
}
equal "$(zones outer)" "[100,120000,1500,170000,300,100]"
equal "$(zones inner)" "[100,20000,500,70000,200,100]"
equal "$(zones frees)" "[1,-100000,0,0,0,100]"
equal "$(zones aside)" "[1,3200,3200,3200,50,0]"
lacks "$(notes)" "are exact to"

# Sampled: estimates are marked as such; what samples cannot tell is missing.
record 64K a.sonde "$blocks" sizes 3000 1
section heap >heap.json
has "$(notes)" "estimated from one block"
matches "$(notes)" '^peak .* ± .* in [0-9,]+ blocks'
equal "$(jq -r '[.[] | select(.function == "sizes").temporary] | .[0]' heap.json)" null
section temporary >/dev/null
has "$(notes)" "--heap=full"
run 0 env COLUMNS=80 "$SONDE" report -q --section heap,sizes,timeline,peak a.sonde
fits 80
has "$out" "estimated"

# 95 % intervals of allocated and live bytes, in 100 runs that are always the same.
for seed in $(seq 100); do
	export SONDE_HEAP_SEED=$seed
	record 64K a.sonde "$blocks" sizes 3000 "$seed"
	echo "[${out/ /,}]"
	"$SONDE" report -q --json -n 1000000 --section heap a.sonde 2>.err || fail "no heap: $(cat .err)"
done >runs
unset SONDE_HEAP_SEED
jq -nc 'def row: [.sections[] | select(.id == "heap").rows[] | select(.function == "sizes")][0];
	range(100) | input as [$all, $live] | input | row |
	{allocated: ((.allocated_b - $all | fabs) <= .plus_minus.allocated_b),
	left: ((.left_b - $live | fabs) <= .plus_minus.left_b), ratio: (.allocated_b / $all)}' runs >held
for what in allocated left; do
	held=$(jq -s --arg what $what 'map(select(.[$what])) | length' held)
	[ "$held" -ge 90 ] || fail "95 % intervals of what was $what held the truth $held times of 100"
done
near "$(jq -s 'map(.ratio) | add / length' held)" 1 0.005

# Not recorded: a message says what to do.
run 0 "$SONDE" record -q --force -o a.sonde -- "$blocks" known
for name in heap peak temporary sizes timeline heap-lines heap-threads heap-zones; do
	section "$name" >/dev/null
	has "$(notes)" "not recorded: allocations (record with --heap)"
done
lacks_metric a.sonde memory.heap_peak_b
