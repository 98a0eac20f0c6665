# cpu-timer-stacks.sh: samples taken inside the program need no free space on its stacks and work if part of a stack is
# unreadable; the program sees its alternate stacks and handlers as without sonde.
# measures in part: shares of CPU time
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
own_stacks=$(target own_stacks)

# The same output, errors and exit code under each kind of recording.
settings=("--no-perf" "--io" "--no-perf --heap=full --threads --io")
same() { # MODE CODE
	local code=0 setting
	"$own_stacks" "$1" >expected 2>expected.err </dev/null || code=$?
	equal "$code" "$2"
	for setting in "${settings[@]}"; do
		# shellcheck disable=SC2086
		run "$2" "$SONDE" record -q --force $setting -o "$1.sonde" -- "$own_stacks" "$1"
		cmp expected .out || fail "another output: $1 with $setting: $(diff expected .out | head -n 5)"
		cmp expected.err .err || fail "other errors: $1 with $setting"
		[ "$setting" != "--no-perf" ] || cp "$1.sonde" "timed-$1.sonde"
	done
}
same guarded 3
same tiny 3
same overflow 3
same dies 139
same takes 3
same asks 3
same urgent 3
same limited 3
same pinned 3
settings=(--no-perf) # waits are recorded in tables that are mapped once, while threads start
same locked 3

# They are sampled nevertheless.
measured holds "$(share timed-guarded.sonde total_share burn_below) > 80"
measured holds "$(share timed-tiny.sonde total_share burn_inside) > 80"
measured holds "$(metric timed-tiny.sonde samples.cpu_time_s) > 0.97 * $(metric timed-tiny.sonde timing.cpu_time_s) - 0.02"

# Where processes must not read their own memory by process_vm_readv().
nope=$(target nope)
"$own_stacks" guarded >expected || equal $? 3
run 3 "$nope" EPERM,process_vm_readv "$SONDE" record -q --force --no-perf -o refused.sonde -- "$own_stacks" guarded
cmp expected .out || fail "another output without process_vm_readv"
measured holds "$(share refused.sonde total_share burn_below) > 80"
