# heap-sandbox.sh: programs that enter a seccomp sandbox run as without sonde; their heap is recorded until then and
# not beyond, and the report says so.
# timeout: 200
. "$(dirname "$0")/../lib.sh"
need jq
sandbox=$(target heap_sandbox)
burner=$(target sandbox)

# goes PROGRAM WAY OPTION…: the same output, errors and exit code with and without sonde.
goes() {
	local program=$1 way=$2 code=0
	shift 2
	"$program" "$way" >expected 2>expected.err </dev/null || code=$?
	run "$code" "$SONDE" record -q "$@" --force -o t.sonde -- "$program" "$way"
	cmp -s expected .out || fail "another output: $way $*"
	cmp -s expected.err .err || fail "other errors: $way $*"
}

# kept FUNCTION: its allocations, live blocks and live bytes.
kept() {
	rows t.sonde heap | jq -r --arg f "$1" '[.[] | select(.function == $f)] |
		"\(map(.allocations) | total) \(map(.left_blocks) | total) \(map(.left_b) | total)"'
}
section() { "$SONDE" report --section "$1" t.sonde | tr -s ' \n' ' '; }

# Exact until then, nothing afterwards, and no leaks are claimed for a process whose memory could not be read.
for way in strict filter threads forks executes; do
	goes "$sandbox" $way --heap=full
	equal "$way $(kept keep_before)" "$way 2000 1000 100000"
	equal "$way $(kept use_after)" "$way 0 0 0"
	has "$(section summary)" "heap: limited: 1 process (heap_sandbox) was locked down (seccomp), where sonde's calls could"
	has "$(section leaks)" "recorded until it locked itself down (seccomp)"
	equal "$way $(rows t.sonde leaks | jq -r '[.[] | select(.function == "keep_before") | "\(.class) \(.blocks)"] | join(",")')" \
		"$way not known 1000"
done
goes "$sandbox" threads --heap=full
holds "$(kept run_thread | cut -d ' ' -f 1) > 0"

# A program that enters no sandbox, or whose attempt fails, is recorded to the end.
for way in runs fails; do
	goes "$sandbox" $way --heap=full
	equal "$way $(kept keep_before)" "$way 2000 750 75000"
	equal "$way $(kept use_after)" "$way 20500 500 50000"
	lacks "$(section summary)" "locked down"
done

# Sampled, and with the CPU timers' object in the same process, whose wrappers ours follow.
for way in strict filter threads forks executes fails; do
	goes "$sandbox" $way --heap=1K --no-symbols
	goes "$sandbox" $way --heap=1K --no-perf --no-symbols
	goes "$sandbox" $way --heap=full --no-perf
	holds "$(kept keep_before | cut -d ' ' -f 1) == 2000" "($way)"
done
for way in filter strict threads forks vforks bare executes asks; do
	goes "$burner" $way --heap --no-perf --no-symbols
	goes "$burner" $way --heap=full --no-perf --no-symbols
done
# A filter that already applies to the recorder is not a sandbox of the program.
run 0 "$(target nope)" EPERM "$SONDE" record -q --heap=full --force -o t.sonde -- "$sandbox" runs
equal "$(kept keep_before)" "2000 750 75000"
lacks "$(section summary)" "locked down"
