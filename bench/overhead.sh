# overhead: CPU sampling at 1000 Hz of sqlite3, zstd, python3 with numpy, and gcc, against perf: overhead, complete stacks, size
source "$(dirname "$0")/lib.bash"
source "$repo/bench/anchors.bash"

rounds=$(n 5 2)
no_perf=$(perf_missing)
[ -z "$no_perf" ] || say "$no_perf"

# --- the programs, each some three seconds -------------------------------------------------------------------------

sums='
import numpy, sys
numbers = numpy.arange(250000, dtype=float)
for i in range(int(sys.argv[1])):
    numpy.sort(numpy.sin(numbers * 1.7 + i))
    sorted(str(x) for x in range(20000))'

python_with_numpy() {
	local candidate
	for candidate in python3 /usr/bin/python3; do
		"$candidate" -c 'import numpy' && { echo "$candidate"; return; }
	done
}

make_text "$(n 6000000 1000000)" >text
make_source "$(n 300 60)" >source.c
python=$(python_with_numpy)
declare -A missing=()
[ -n "$python" ] || missing[numpy]="no python3 here has numpy"
for tool in sqlite3 zstd gcc; do
	command -v $tool >/dev/null || missing[$tool]="$tool is not installed"
done

command_of() {
	case $1 in
	sqlite3) command=(sqlite3 :memory: "$sqlite_query") ;;
	zstd) command=(zstd -19 -q -f text -o text.zst) ;;
	numpy) command=("$python" -c "$sums" "$(n 110 20)") ;;
	gcc) command=(gcc -O2 -c source.c -o source.o) ;;
	esac
}

# --- one round ----------------------------------------------------------------------------------------------------------

# under HOW NAME: runs the program under a recorder; the costs of both together, and of the program in it.
under() {
	local key=$2.$1 inner=("$programs/cost" "$work/cost.$2.$1.inner" "${command[@]}")
	case $1 in
	alone) cost "$key" "${command[@]}" ;;
	sonde) cost "$key" "$SONDE" record -q -f -F 1000 -o "$key.sonde" -- "${inner[@]}" ;;
	plain) cost "$key" perf record -q -F 1000 -o "$key.perf" -- "${inner[@]}" ;;
	fp | dwarf) cost "$key" perf record -q -F 1000 --call-graph "$1" -o "$key.perf" -- "${inner[@]}" ;;
	esac
}

recorders=(alone sonde)
[ -n "$no_perf" ] || recorders+=(plain fp dwarf)

measure() {
	local name=$1 round i how
	for ((round = 0; round < rounds; round++)); do
		say "$name, round $((round + 1)) of $rounds"
		for ((i = 0; i < ${#recorders[@]}; i++)); do
			under "${recorders[(i + round) % ${#recorders[@]}]}" "$name"
		done
		keep "$name.whole" "$(metric "$name.sonde.sonde" samples.complete_percent)"
		keep "$name.bytes" "$(calc "$(stat -c %s "$name.sonde.sonde") / $(metric "$name.sonde.sonde" samples.count)")"
	done
	for how in "${recorders[@]:1}"; do
		paired "$name.$how.total" "$name.$how" "$name.alone" cpu "100 * (a / b - 1)"
		paired "$name.$how.target" "$name.$how.inner" "$name.alone" cpu "100 * (a / b - 1)"
		paired "$name.$how.recorder" "$name.$how" "$name.$how.inner" cpu "100 * (a - b) / b"
	done
	for how in fp dwarf; do
		[ -f "$name.$how.perf" ] || continue
		keep "$name.$how.whole" "$(perf_roots "$name.$how.perf")"
		keep "$name.$how.bytes" "$(calc "$(stat -c %s "$name.$how.perf") / $(perf_samples "$name.$how.perf")")"
	done
}

# perf's figures beside ours: "perf fp 8.3 %, dwarf 8.7 %".
beside() {
	[ -z "$no_perf" ] && echo "perf fp $(text "$1.fp.$2" "$3"), dwarf $(text "$1.dwarf.$2" "$3")" || echo "$no_perf"
}

report() {
	local name=$1 plain=0.013
	if has "$name.fp.total"; then
		judge "$name: total overhead" "$name.sonde.total" % "$(beside "$name" total %)" "below perf's" "<" \
			"$(calc "$(median "$name.fp.total") < $(median "$name.dwarf.total") ? $(median "$name.fp.total") : $(median "$name.dwarf.total")")"
	fi
	[ "$name" = sqlite3 ] && judge "$name: total overhead, against the bar" "$name.sonde.total" % "–" "≤ 3 %" "<=" 3
	if has "$name.plain.target"; then
		plain=$(median "$name.plain.target")
		judge "$name: slowdown of the program" "$name.sonde.target" % \
			"interrupts without stacks (perf) $(text "$name.plain.target" %)" "≤ that + 0.4 points" "<=" "$(calc "$plain + 0.4")"
	else
		info "$name: slowdown of the program" "$name.sonde.target" % "$no_perf"
	fi
	judge "$name: recorder's CPU" "$name.sonde.recorder" % "$(beside "$name" recorder %)" "≤ 0.5 %" "<=" 0.5
	judge "$name: complete stacks" "$name.whole" % "$(beside "$name" whole %)" "≥ 97 %" ">=" 97
	judge "$name: bytes a sample" "$name.bytes" B "$(beside "$name" bytes B)" "≤ 24 B" "<=" 24 "the whole file, symbols included"
}

for name in sqlite3 zstd numpy gcc; do
	if [ -n "${missing[$name]:-}" ]; then
		unavailable "$name: total overhead" "perf" "–" "${missing[$name]}"
		continue
	fi
	command_of $name
	measure $name
	report $name
done
