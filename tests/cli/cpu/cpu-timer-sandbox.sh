# cpu-timer-sandbox.sh: programs in a seccomp sandbox that kills them for unexpected system calls survive the timers
# inside their processes, and are sampled until they enter the sandbox.
# measures: shares of CPU time
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
sandbox=$(target sandbox)

detail() { rows t.sonde summary >/dev/null; "$SONDE" report --section summary t.sonde | tr -s ' \n' ' '; }

# The same output and exit code with and without sonde.
same() { # WAY: how it locks itself in
	local code=0
	"$sandbox" "$1" >expected 2>expected.err </dev/null || code=$?
	run "$code" "$SONDE" record -q --force --no-perf -o t.sonde -- "$sandbox" "$1"
	cmp expected .out || fail "another output: $1"
	cmp expected.err .err || fail "other errors: $1"
}

for way in filter strict threads forks vforks bare asks; do
	same $way
	holds "$(metric t.sonde samples.count) >= 1" "($way)"
done

# The share of CPU time reported as not sampled, in percent.
unseen() { rows t.sonde summary | jq '[.[] | select(.metric == "samples.not_sampled_s" or .metric == "samples.cpu_time_s") | .value] | 100 * .[1] / .[0]'; }

# A query is not a sandbox, and a child's sandbox is not its parent's. A process is sampled until it enters one, and
# the report says so. A filter inherited through exec counts, unless the recorder runs under it, too.
for way in vforks bare asks; do
	same $way
	holds "$(unseen) < 10" "($way)"
	lacks "$(detail)" "sandboxed"
done
for way in filter strict threads executes; do
	same $way
	holds "$(unseen) > 30" "($way)"
	holds "$(unseen) < 95" "($way)"
	has "$(detail)" "1 process was not sampled (sandbox): sandboxed"
	[ $way = threads ] || holds "$(share t.sonde total_share after 0) < 1" "($way)"
done
run 0 "$(target nope)" EPERM "$SONDE" record -q --force -o t.sonde -- "$(target split)" 0.2
holds "$(unseen) < 10"
lacks "$(detail)" sandbox
