# startup: the time that recording adds to a program that does nothing, and to 400 forks of it
source "$(dirname "$0")/lib.bash"
source "$repo/bench/anchors.bash"

rounds=$(n 21 5)
fork_rounds=$(n 5 2)
forks=(sh -c "i=0; while [ \$i -lt $(n 400 40) ]; do /bin/true; i=\$((i + 1)); done")
no_perf=$(perf_missing)

# round KEY COMMAND…: the command alone and under each recorder.
round() {
	local key=$1
	shift
	cost "$key.alone" "$@"
	cost "$key.sonde" "$SONDE" record -q -f -F 1000 -o out.sonde -- "$@"
	[ -z "$no_perf" ] || return 0
	cost "$key.perf" perf record -q -F 1000 -g -o out.perf -- "$@"
	cost "$key.nobpf" perf record -q -F 1000 -g --no-bpf-event -o out.perf -- "$@"
}

for ((i = 0; i < rounds; i++)); do
	round start true
done
for ((i = 0; i < fork_rounds; i++)); do
	say "forks, round $((i + 1)) of $fork_rounds"
	round forks "${forks[@]}"
done
for how in sonde perf nobpf; do
	for field in cpu wall; do
		paired start.$how.$field start.$how start.alone $field "1000 * (a - b)"
	done
	paired forks.$how.cpu forks.$how forks.alone cpu "100 * (a / b - 1)"
done

beside() {
	[ -z "$no_perf" ] && echo "perf $(text "$1.perf.$2" "$3"), --no-bpf-event $(text "$1.nobpf.$2" "$3")" || echo "$no_perf"
}

judge "true: CPU added" start.sonde.cpu ms "$(beside start cpu ms)" "≤ 15 ms" "<=" 15
judge "true: wall time added" start.sonde.wall ms "$(beside start wall ms)" "≤ 50 ms" "<=" 50
figure="$(n 400 40) forks of true: CPU added"
if has forks.nobpf.cpu; then
	judge "$figure" forks.sonde.cpu % "$(beside forks cpu %)" "below perf's" "<" "$(median forks.nobpf.cpu)"
else
	info "$figure" forks.sonde.cpu % "$no_perf"
fi
