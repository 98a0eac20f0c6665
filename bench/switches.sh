# switches: additional cost of a context switch when it is recorded, in a pipe ping-pong and at 20,000 switches per second
source "$(dirname "$0")/lib.bash"
source "$repo/bench/anchors.bash"

rounds=$(n 7 2)
operations=$(n 200000 30000)
paced=$(n 20000 4000) # operations of 100 µs
no_perf=$(perf_missing)
no_bpf=
SONDE_SWITCHES=bpf "$SONDE" record -q -f --threads -o out.sonde -- "$programs/switches" 1000 >/dev/null 2>&1
"$SONDE" report out.sonde 2>/dev/null | grep -q 'switches by BPF' || no_bpf="unavailable: BPF is not allowed here"

# With one sample a second, nearly all overhead comes from the switches.
recorded=("$SONDE" record -q -f -F 1)

round() {
	local key=$1
	shift
	cost "$key.alone" "$@"
	cost "$key.all" "${recorded[@]}" -o out.sonde -- "$programs/cost" "$work/cost.$key.inside" "$@"
	cost "$key.read" "${recorded[@]}" --no-perf -o out.sonde -- "$programs/cost" "$work/cost.$key.readinside" "$@"
	[ -n "$no_bpf" ] || cost "$key.bpf" env SONDE_SWITCHES=bpf "${recorded[@]}" --threads -o out.sonde -- "$@"
	[ -z "$no_perf" ] || return 0
	cost "$key.perf" perf record -q -e sched:sched_switch -g --no-bpf-event -o out.perf -- "$@" || true
}

for ((i = 0; i < rounds; i++)); do
	say "round $((i + 1)) of $rounds"
	round turns "$programs/switches" "$operations"
	round paced "$programs/switches" "$paced" 48000
done
switches=$((2 * operations))
for how in all inside read bpf perf; do
	paired turns.$how turns.$how turns.alone cpu "1e6 * (a - b) / $switches"
	paired paced.$how paced.$how paced.alone cpu "100 * (a / b - 1)"
done
beside() {
	[ -z "$no_perf" ] && echo "perf sched_switch -g $(text "$1.perf" "$2")" || echo "$no_perf"
}

judge "ping-pong: added to a switch, recorder included" turns.all µs "$(beside turns µs)" "≤ 3 µs" "<=" 3
info "ping-pong: added to a switch, in the program" turns.inside µs "alone $(calc "1e6 * $(cost_of turns.alone cpu | sort -g | head -n 1) / $switches") µs"
info "ping-pong: added to a switch without switch records" turns.read µs "–"
judge "ping-pong: added to a switch by BPF (SONDE_SWITCHES=bpf), recorder included" turns.bpf µs "switch records above" "≤ 1 µs" "<=" 1 "$no_bpf"
judge "20,000 switches a second: CPU added" paced.all % "$(beside paced %)" "≤ 6 %" "<=" 6
judge "20,000 switches a second: CPU added by BPF" paced.bpf % "switch records above" "≤ 3 %" "<=" 3 "$no_bpf"
info "20,000 switches a second: CPU added without switch records" paced.read % "–"
