# blocked.sh: what threads wait for if nothing is preloaded: static programs, direct system calls, attached processes.
# Sums by kind and function equal the program's own; nothing counts twice in addition to hooks; the overhead is bounded;
# processes that may not be read are reported.
# measures: wait times, against the program's own
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need jq
static=$(target blocked_static)
dynamic=$(target blocked)
pids=()

said() {
	awk -v name="$1" '$1 == name { print $2 }' "$work/.out"
}
sampled() { # FILE SECTION FILTER COLUMN: the sum of the rows of that section that the filter leaves
	"$SONDE" report -q --json -n 1000000 --section "${2%-sampled}" "$1" >.rows || fail "no report of $1"
	jq -r --arg s "$2" "[.sections[] | select(.id == \$s) | .rows[] | select($3) | .$4] | total" .rows
}
# known FILE FUNCTION KIND NS: the estimate differs from the program's own figure by at most 1.5 times the reported 95
# % interval, which is as narrow as the number of samples allows; time taken by a hypervisor is excluded. Adds to $all
# and $all_known.
known() {
	local filter=".function == \"$2\" and .kind == \"$3\"" total width looks
	total=$(sampled "$1" waits-sampled "$filter" total_ns)
	width=$(sampled "$1" waits-sampled "$filter" plus_minus.total_ns)
	looks=$(sampled "$1" waits-sampled "$filter" looks)
	all=$((all + total)) all_known=$((all_known + $4))
	holds "$looks > 0 && $width <= 2 * $total / sqrt($looks)" "$2 in $3: $total ± $width ns of $looks looks"
	holds "($total - $4) ^ 2 <= (1.5 * $width + 1e9 * $stolen) ^ 2" "$2 in $3: $total ± $width ns, the program measured $4"
}
# The sum of all three is closer: 5 %.
schedule() { # MODE
	local all=0 all_known=0 stolen
	mv $1.sonde a.sonde
	mv $1.out .out
	stolen=$(metric a.sonde timing.stolen_time_s)
	known a.sonde rest sleep "$(said slept)"
	known a.sonde wait_gate futex "$(said gate)"
	known a.sonde wait_pipe read "$(said pipe)"
	holds "($all - $all_known) ^ 2 <= (0.05 * $all_known + 1e9 * $stolen) ^ 2" "all: $all, the program measured $all_known"
}

# Two schedules, at the same time: the wait is attributed to the program's innermost function, with the object that it waits
# for.
for mode in schedule raw; do
	"$SONDE" record -q --threads -o $mode.sonde -- "$static" $mode 8 >$mode.out 2>$mode.err &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait $pid || fail "exit code $?: $(cat ./*.err)"
done
for mode in schedule raw; do
	schedule $mode
	equal "$(sampled a.sonde waits 'true' total_ns)" 0
	equal "$(jq -r '.sections[].rows[] | select(.function == "wait_gate").most_for' .rows)" gate
	has "$(jq -r '.sections[].rows[] | select(.function == "wait_pipe").most_for' .rows)" "pipe:["
	equal "$(jq -c '[.sections[].columns[]? | select(.key == "total_ns") | .basis] | unique' .rows)" '["estimated"]'
done
# The gate is a lock, too: its time is that of the waits at it.
equal "$(sampled a.sonde locks-sampled '.lock == "gate"' waited_ns)" \
	"$(sampled a.sonde waits-sampled '.function == "wait_gate" and .kind == "futex"' total_ns)"
# The leaf of a stack is the function that makes the call; all stacks are complete.
run 0 "$SONDE" report --section calltree --metric waiting a.sonde
for function in rest wait_gate wait_pipe; do
	has "$out" "$function"
done
has "$out" "sampled from outside"
run 0 "$SONDE" report --section waits a.sonde
lacks "$out" "are incomplete"

# A dynamically linked program that was started by someone else.
"$dynamic" schedule 9 >.started &
started=$!
sleep 0.3
before=$(date +%s%N)
run 0 "$SONDE" record -q --threads --force -o b.sonde -p $started -d 6s
after=$(date +%s%N)
wait $started
cp .started .out
for row in "rest sleep slept" "wait_gate futex gate" "wait_pipe read pipe"; do
	set -- $row
	share=$(said "$3")
	# The schedule never changes, so the figures are its share of the recorded time.
	ran=$(metric b.sonde timing.wall_time_s)
	whole=$(calc "$(said gate) + $(said pipe)")
	[ "$3" != slept ] || whole=$(calc "$(said slept) / 0.75")
	known_ns=$(calc "$share / $whole * $ran * 1e9")
	total=$(sampled b.sonde waits-sampled ".function == \"$1\" and .kind == \"$2\"" total_ns)
	holds "$known_ns > 0" "attached: the program measured nothing of $1 in $2"
	near "$total" "$known_ns" "0.12 * $known_ns"
done

# A hooked process together with one that cannot be hooked: each counts once.
run 0 "$SONDE" record -q --threads --force -o c.sonde -- "$dynamic" parent 3 "$static" schedule 2
equal "$(sampled c.sonde waits '.function == "rest" and .kind == "sleep"' calls)" 1
slept=$(sampled c.sonde waits '.function == "rest"' total_ns)
holds "$slept >= 3e9 && $slept < 4e9" "the parent sleeps 3 s once"
equal "$(sampled c.sonde waits-sampled '.function == "parent"' looks)" 0
holds "$(sampled c.sonde waits-sampled '.function == "rest"' total_ns) < 2.4e9" "the parent's sleep is not in it"
holds "$(sampled c.sonde waits-sampled '.function == "rest"' total_ns) > 1e9"

# Waits of a static program are sampled, its calls on files are not: the report does not state that there were none.
run 0 "$SONDE" record -q --threads --io --force -o s.sonde -- "$(target io_static)" "$static"
run 0 "$SONDE" report --section io s.sonde
has "$out" "not recorded: calls on files and sockets"
lacks "$out" "no call on a file"

# Only a hooked process: nothing is sampled, and sampling is not mentioned.
run 0 "$SONDE" record -q --threads --force -o d.sonde -- "$dynamic" schedule 1
equal "$(sampled d.sonde waits-sampled true looks)" 0
run 0 "$SONDE" report d.sonde
lacks "$out" "from outside"

# A program with a cleared environment.
run 0 "$SONDE" record -q --threads --force -o e.sonde -- env -i "$dynamic" schedule 2
holds "$(sampled e.sonde waits-sampled '.kind == "futex"' looks) > 10"

# Two thousand threads: their sum is unbiased although few are polled at a time, within the CPU budget.
run 0 "$SONDE" record -q --threads --force -o f.sonde -- "$static" many 2000 5
total=$(sampled f.sonde waits-sampled '.function == "run_one"' total_ns)
holds "$total > 0.8 * $(said waited) && $total < 1.25 * $(said waited)" "2,000 threads that wait"
run 0 "$SONDE" report f.sonde
has "$out" "one thread in"

# A process that does not let itself be read: reported, with what helps.
run 0 as_user "$SONDE" record -q --threads --force -o g.sonde -- "$static" locked 1
run 0 "$SONDE" report g.sonde
matches "$out" "blocked: not recorded: .*could not be polled"

# A process whose executable may not be read cannot be polled, but its hooks report its waits. It may be polled around
# its start or end.
install -m 0111 "$(target waits)" unreadable
for _ in 1 2 3 4 5; do
	run 0 as_user "$SONDE" record -q --threads --force -o g.sonde -- ./unreadable convoy 40
	holds "$(sampled g.sonde waits '.kind == "mutex"' calls) > 100" "its hooks tell"
	run 0 "$SONDE" report g.sonde
	lacks "$out" "could not be polled"
done

# A stopped thread does not wait for what it was waiting for, and continues with that afterwards.
"$static" sleep 5 >/dev/null &
stopped=$!
sleep 0.2
{ sleep 1; kill -STOP $stopped; sleep 1; kill -CONT $stopped; } &
run 0 "$SONDE" record -q --threads --force -o h.sonde -p $stopped -d 3s
wait
holds "$(sampled h.sonde waits-sampled '.kind == "sleep"' total_ns) < 2.4e9" "a second of three it was stopped"
holds "$(sampled h.sonde waits-sampled '.kind == "sleep"' total_ns) > 1.4e9"
equal "$(sampled h.sonde waits-sampled '.kind == "other call"' looks)" 0
