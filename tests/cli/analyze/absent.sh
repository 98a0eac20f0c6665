# absent.sh: a section without rows says whether its data was recorded. The recordings here each lack one kind of data.
# "nobody waited" appears only if waits were recorded.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
server=$(target slow_request)

# The kinds of data that each section is made of; any of them suffices. A new section fails until it is listed here.
declare -A needs=()
of() { # KINDS SECTION…
	local kinds=$1 section
	shift
	for section; do needs[$section]=$kinds; done
}
of cpu functions latency callers lines assembly modules
of "switches locks files" critical-path critical-steps
of devices devices kernels launches copies peers streams device-gaps device-calls launch-stacks device-memory device-peak \
	device-zones
of "locks files" waits wait-kinds
of locks locks
of files io io-phases io-seen
of readings resources usage machine memory
of heap heap heaps peak leaks temporary sizes timeline heap-lines heap-threads heap-zones
of energy energy-functions energy-zones
of "energy driver" energy # a driver counts the joules of its GPUs
of api zones zone-histogram phases spans counters histograms iterations turns messages
of "" findings calltree threads processes what-if snapshots flop roofline summary # made of several: see itself.jq

# What these sections must say if a recording has only $kinds: lists what is wrong.
cat >itself.jq <<'END'
def lacks($kind): $kinds | index($kind) == null;
def section($id): [.sections[] | select(.id == $id)][0] | .notes = ([.notes[].text] | join("\n")) | .count = ((.rows // .nodes) | length);
def notes($words): .notes | contains($words);
def must($what; $holds): if $holds == true then empty else "\(.id): \($what): \(.notes)" end;
(section("findings") | if $kinds == [] then
	must("not checked"; .count == 0 and (.notes | startswith("nothing was checked; not recorded: ")) and (notes("no findings") | not))
else
	must("blocking calls"; notes("blocking calls (") == (lacks("locks") and lacks("files"))),
	must("locks"; notes("waits for locks (") == (lacks("locks") and (lacks("files") | not))),
	must("files"; notes("calls on files and sockets (") == (lacks("files") and (lacks("locks") | not))),
	must("allocations"; notes("allocations (") == lacks("heap")),
	must("CPU time"; notes("CPU time (no samples)") or (lacks("cpu") | not)),
	must("wake-ups"; notes("wake-ups (") or ([lacks("switches", "locks", "files")] | all | not)),
	must("a result"; .count > 0 or notes("no findings: no rule reached its threshold") or notes("Noisy run") or notes("Noisy ceilings") or notes("the length of the run is unknown"))
end),
(section("calltree") |
	must("samples"; (.notes | startswith("not recorded: CPU samples")) == lacks("cpu")),
	must("no rows"; .count == 0 or (lacks("cpu") | not))),
((section("threads"), section("processes")) |
	must("rows"; .count > 0),
	must("shares"; notes("no shares: not recorded: CPU samples") == lacks("cpu") and notes("100 % = ") == (lacks("cpu") | not)),
	must("share"; .rows | all((.share == null) == lacks("cpu") and (.share != null or (.absent.share | length > 0))))),
(section("threads") | (lacks("switches") and lacks("readings")) as $stateless |
	must("states"; notes("no thread states: not recorded: ") == $stateless),
	must("polling"; notes("between two readings") | not or (lacks("readings") | not)),
	must("state"; .rows | any(.on_cpu_share != null) != $stateless and all(.on_cpu_share != null or (.absent.on_cpu_share | length > 0)))),
(section("what-if") | must("how"; .count == 0 and notes("sonde advise --what-if zone=NAME"))),
(section("snapshots") | must("how"; if .count > 0 then lacks("heap") | not else notes("no snapshots: take them with ") and notes("sonde record --snapshot-every") end)),
(section("flop") | must("work"; .count == 0 and
	if lacks("api") then .notes | startswith("not recorded: zones") else notes("no FLOP or bytes were counted: use sonde record --blas") end)),
(section("roofline") | must("work"; .count == 0 and
	if lacks("api") then .notes | startswith("not recorded: zones") else notes("no zone reported work: use SONDE_ZONE_WORK(") end)),
(section("summary") | . as $summary | def is_absent($metric): [.rows[] | select(.metric == $metric).value] | length == 1 and .[0] == null;
	must("rows"; .count >= 28),
	must("reasons"; .rows | all(if .value == null then .basis == null and (.absent.value | length > 0) else .basis != null end)),
	must("samples"; is_absent("samples.count") == lacks("cpu") and is_absent("samples.extra") == lacks("cpu")),
	must("zones"; is_absent("zones.count") == lacks("api")),
	must("heap"; is_absent("memory.heap_peak_b", "memory.heap_allocations", "memory.heap_left_b") == lacks("heap")),
	must("losses"; is_absent("lost.count") == $is_imported),
	must("overhead"; is_absent("cost.recorder_cpu_time_s") == $is_own))
END

# names: every section that has a row in passes.def.
names() {
	local pass
	for pass in $(sed -n 's/^SONDE_PASS(\([a-z_]*\),.*/\1/p' "$repo/src/analyze/passes.def"); do
		case $pass in
		io_shares) echo io-seen ;;
		*) echo "${pass//_/-}" ;;
		esac
	done
}

# notes_of FILE SECTION: its notes, a line each.
notes_of() {
	"$SONDE" report -q --json --section "$2" "$1" | jq -r --arg id "$2" '.sections[] | select(.id == $id).notes[].text'
}

# unknown FILE METRIC…: figures of the summary that are absent.
unknown() {
	local file=$1 metric
	shift
	for metric; do lacks_metric "$file" "$metric"; done
}

# judged FILE KINDS…: checks each section of the recording, which has these kinds. is_imported: it comes from a file
# that does not say what was lost; is_own: it was not made by a recorder.
is_imported=false is_own=false
judged() {
	local file=$1 name kind state rows is_there wrong
	shift
	run 0 "$SONDE" report --json --section "$(names | paste -sd,)" "$file"
	wrong=$(jq -r --argjson kinds "$(printf '%s\n' "$@" | jq -R 'select(. != "")' | jq -sc .)" --argjson is_imported "$is_imported" \
		--argjson is_own "$is_own" -f itself.jq .out)
	equal "$file: $wrong" "$file: "
	jq -r '.sections[] | "\(.id) \(.recorded // "-" | gsub(" "; "-")) \((.rows // .nodes) | length) \([.notes[].text] | join(" ") | gsub("\n"; " "))"' \
		.out >sections
	for name in $(names); do
		[ -n "${needs[$name]+x}" ] || fail "section $name: say here what it is made of"
		[ -n "${needs[$name]}" ] || continue
		is_there=no
		for kind in ${needs[$name]}; do
			[[ " $* " != *" $kind "* ]] || is_there=yes
		done
		read -r _ state rows notes < <(grep -E "^$name " sections) || fail "$file: no section $name"
		if [ $is_there = no ]; then
			equal "$file $name $state $rows" "$file $name no 0"
			matches "$notes" '^not recorded: '
			[[ ! $notes =~ nobody|'no leaks'|'nothing '|' 0 B' ]] || [[ $notes == *'saved nothing'* ]] ||
				fail "$file, section $name: $notes"
		elif [ "$rows" -eq 0 ]; then
			[ "$state" != no ] || fail "$file: section $name was recorded: $notes"
			lacks "$notes" "not recorded: "
		fi
	done
}

perf=switches
"$SONDE" doctor -f json 2>/dev/null | jq -e '[.sections[].rows[] | select(.check == "perf events" and .verdict == "green")] | length == 1' \
	>/dev/null || perf=
run 0 "$SONDE" record -q -o plain.sonde -- "$server" 100 50
judged plain.sonde cpu $perf readings api
run 0 "$SONDE" record -q --threads -o threads.sonde -- "$server" 100 50
judged threads.sonde cpu $perf readings api locks
has "$(notes_of threads.sonde findings)" "calls on files and sockets (--io), allocations (--heap)"
run 0 "$SONDE" record -q --io -o io.sonde -- "$server" 100 50
judged io.sonde cpu $perf readings api files
run 0 "$SONDE" record -q --heap=full -o heap.sonde -- "$server" 100 50
judged heap.sonde cpu $perf readings api heap
run 0 "$SONDE" record -q --no-perf -o timers.sonde -- "$server" 100 50
judged timers.sonde cpu readings api
has "$(notes_of timers.sonde threads)" "2 threads were seen: those living between two readings are missing"
run 0 "$SONDE" record -q --energy -o energy.sonde -- "$server" 100 50
judged energy.sonde cpu $perf readings api energy

holds "$(rows plain.sonde threads | jq length) == 2"
holds_in <("$SONDE" report --json --section calltree plain.sonde) '.sections[0].nodes | length > 0'

# GPUs: of a program that reports their work itself, and GPUs of the machine, from a stand-in for the driver, with a
# program that uses none.
run 0 "$SONDE" record -q -o told.sonde -- "$(target device_told)"
judged told.sonde cpu $perf readings api devices
if [ -e "$SONDE_BUILD/tests/targets/libnvidia-ml-nvml_new.so" ]; then
	mkdir driver
	cp "$SONDE_BUILD/tests/targets/libnvidia-ml-nvml_new.so" driver/libnvidia-ml.so.1
	run 0 env LD_LIBRARY_PATH="$work/driver" NVML_STAND_IN= "$SONDE" record -q --gpu -o driver.sonde -- "$server" 100 50
	judged driver.sonde cpu $perf readings api driver
	matches "$(notes_of driver.sonde kernels)" '^not recorded: GPU activity: no process used a GPU'
	holds "$(rows driver.sonde machine | jq '[.[] | select(.what == "GPU busy")] | length') >= 1"
fi

# Snapshots without allocations: memory of the process, but no live bytes.
run 0 "$SONDE" record -q --snapshot-every 50ms -o snapshots.sonde -- "$server" 40 20
equal "$(rows snapshots.sonde snapshots | jq -c '[.[] | [.live_b, .absent.live_b]] | unique')" '[[null,"allocations were not recorded"]]'

# Recordings made by the program itself, and from another profiler's file.
SONDE_OUT=$work/self.sonde run 0 "$server" 20 10
is_own=true judged self*.sonde api
unknown self*.sonde samples.count samples.extra
equal "$(notes_of self*.sonde calltree)" "not recorded: CPU samples (sonde record)"
equal "$(notes_of self*.sonde threads)" "no shares: not recorded: CPU samples (sonde record)
no thread states: not recorded: context switches (perf events: sonde doctor), readings of processes and the system (sonde record)"
holds "$(metric self*.sonde zones.count) >= 20"
echo 'a;b 5' >folded.txt
run 0 "$SONDE" import -q -o folded.sonde folded.txt
is_imported=true is_own=true judged folded.sonde cpu
unknown folded.sonde zones.count lost.count
lacks "$(notes_of folded.sonde threads)" "between two readings"
has "$(notes_of folded.sonde threads)" "no thread states: not recorded: context switches"
equal "$(rows folded.sonde threads | jq -c '.[] | [.life_ns, .absent.life_ns, .absent.on_cpu_share[:12]]')" \
	'[null,"unknown: imported from a file without times","not recorded"]'
equal "$(rows folded.sonde processes | jq -c '.[] | [.wall_ns, .absent.wall_ns]')" '[null,"unknown: imported from a file without times"]'
equal "$(metric folded.sonde samples.count)" 5
matches "$("$SONDE" report folded.sonde | tr -s ' \n' ' ')" ', unknown losses'

printf '[{"ph":"X","name":"a","ts":0,"dur":5000,"pid":1,"tid":1},{"ph":"X","name":"b","ts":1000,"dur":50,"pid":1,"tid":1}]' >trace.json
if "$SONDE" import -q -o trace.sonde trace.json 2>.err; then
	is_imported=true is_own=true judged trace.sonde api
else
	has "$(<.err)" yajl
fi

# Attached: nothing that programs report through the API is recorded.
"$server" 400 200 &
run 0 "$SONDE" record -q -p $! -d 500ms -o attached.sonde
judged attached.sonde cpu $perf readings
unknown attached.sonde zones.count
for section in flop roofline; do
	has "$(notes_of attached.sonde $section)" "not recorded: zones, counters and messages of sonde/sonde.h: only of programs started by sonde"
done
equal "$(metric attached.sonde lost.count)" 0
kill $! 2>/dev/null || true

# A flight recorder that saved nothing, and a static program, which loads no object of ours.
run 0 "$SONDE" record -q --threads --keep 300ms --when 'zone=nope>50ms' -o kept.sonde -- "$server" 100 50
judged kept.sonde
unknown kept.sonde zones.count samples.count samples.extra
for section in flop roofline calltree; do
	matches "$(notes_of kept.sonde $section)" '^not recorded: (zones|CPU samples).*: the flight recorder \(--keep\) saved nothing'
done
has "$(rows kept.sonde threads | jq -r '.[0].absent.blocked_in')" "saved nothing"
matches "$(notes_of kept.sonde threads)" '^no thread states: not recorded: context switches: the flight recorder'
lacks "$(notes_of kept.sonde threads)" "between two readings"
lacks "$(notes_of kept.sonde threads)" "is unknown"
run 0 "$SONDE" report --section locks kept.sonde
has "${out//$'\n' /}" "not recorded: waits for locks, time and tasks: the flight recorder (--keep) saved nothing"
equal "$(notes_of kept.sonde findings)" "nothing was checked; not recorded: CPU samples: the flight recorder (--keep) saved nothing: its event did not happen"
run 0 "$SONDE" record -q --io --heap -o static.sonde -- "$(target split_static)" 0.2
judged static.sonde cpu $perf readings api
run 0 "$SONDE" report --section heap static.sonde
has "${out//$'\n' /}" "not recorded: allocations: no process loaded libsonde-heap.so"
found=$(notes_of static.sonde findings)
matches "$found" '^not checked: .*blocking calls \(no process made a blocking call, .*allocations \(no process loaded libsonde-heap.so'

# Diffs: data missing from one side is reported once for all sections, and by each section that is requested.
diff_of() { # BASELINE CANDIDATE OPTION…
	local baseline=$1 candidate=$2
	shift 2
	run 0 "$SONDE" diff -f json "$@" "$baseline" "$candidate"
	said=$(jq -r '[.notes[].text] | join("\n")' .out)
}
diff_of kept.sonde plain.sonde
matches "$said" '^functions are not compared: baseline: not recorded: CPU samples: the flight recorder .* saved nothing'
matches "$said" '^zones are not compared: baseline: not recorded: zones, .* saved nothing'
equal "$(jq -r '[.sections[].id] | join(" ")' .out)" diff
diff_of plain.sonde attached.sonde
matches "$said" '^zones are not compared: candidate: not recorded: zones, .*: only of programs started by sonde'
lacks "$said" "functions are not compared"
diff_of plain.sonde plain.sonde
lacks "$said" "not compared:"
diff_of kept.sonde self*.sonde
lacks "$said" "functions are not compared" # of neither
diff_of self*.sonde folded.sonde --section diff,diff-iterations,diff-zones,diff-functions,diff-calltree
equal "$(jq -r '[.sections[] | .id] | join(" ")' .out)" "diff diff-iterations diff-zones diff-functions diff-calltree"
equal "$(jq -r '.sections[] | select(.id | test("functions|calltree")).notes[].text' .out)" \
	$'baseline: not recorded: CPU samples (sonde record)\nbaseline: not recorded: CPU samples (sonde record)'
matches "$(jq -r '.sections[] | select(.id == "diff-zones").notes[].text' .out)" '^candidate: not recorded: zones, '
equal "$(jq -c '.sections[0].rows[1] | [.wall_ns, .absent.wall_ns, .absent.command]' .out)" \
	'[null,"unknown: imported from a file without times","unknown: imported"]'
lacks "$(jq -r '.sections[0].notes[].text' .out)" "by wall time"

# If data was recorded and nothing happened, the report says so, as before.
run 0 "$SONDE" record -q --threads --heap=full -o none.sonde -- sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; sleep 0.01 & wait'
run 0 "$SONDE" report --json --section locks,leaks none.sonde
equal "$(jq -r '.sections[] | select(.id == "locks").recorded' .out)" yes
has "$out" "no lock contention"

# The file was truncated: the report does not claim that nothing happened in the missing part.
head -c "$(($(stat -c %s threads.sonde) / 2))" threads.sonde >cut.sonde
run 0 "$SONDE" report --json --section locks,waits,zones cut.sonde
equal "$(jq -r '[.sections[].recorded] | map(select(. == "yes")) | length' .out)" 0
matches "$(jq -r '.sections[].lacks' .out)" "the recorder was killed, or the file was cut off"
