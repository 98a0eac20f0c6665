# fallback: CPU sampling where perf events are forbidden (--no-perf): overhead and reached rate
source "$(dirname "$0")/lib.bash"

rounds=$(n 5 2)
command=(sqlite3 :memory: "$sqlite_query")

for ((i = 0; i < rounds; i++)); do
	say "round $((i + 1)) of $rounds"
	cost alone "${command[@]}"
	cost timers "$SONDE" record -q -f -F 1000 --no-perf -o out.sonde -- "$programs/cost" "$work/cost.inner" "${command[@]}"
	keep whole "$(metric out.sonde samples.complete_percent)"
	keep rate "$(calc "$(metric out.sonde samples.count) / $(metric out.sonde timing.cpu_time_s)")"
	keep bytes "$(calc "$(stat -c %s out.sonde) / $(metric out.sonde samples.count)")"
done
paired total timers alone cpu "100 * (a / b - 1)"
paired target inner alone cpu "100 * (a / b - 1)"
paired recorder timers inner cpu "100 * (a - b) / b"

method="in-process timers, at the kernel's HZ"
info "no perf events: samples a CPU second" rate "/s" "1000 requested" "$method"
judge "no perf events: sqlite3, total overhead" total % "–" "≤ 3 %" "<=" 3 "$method"
judge "no perf events: slowdown of the program" target % "–" "≤ 1.7 %" "<=" 1.7
judge "no perf events: recorder's CPU" recorder % "–" "≤ 0.5 %" "<=" 0.5
judge "no perf events: complete stacks" whole % "–" "≥ 97 %" ">=" 97
judge "no perf events: bytes a sample" bytes B "–" "≤ 24 B" "<=" 24 "the whole file, symbols included"
