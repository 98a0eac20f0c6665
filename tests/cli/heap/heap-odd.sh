# heap-odd.sh: programs with unusual threads, stacks, signals, descriptors and processes run as without sonde when
# every allocation is recorded, and each of their blocks is recorded.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
threads=$(target odd_threads)
processes=$(target odd_processes)

# goes CODE COMMAND…: alone and recorded: output, errors and exit code are the same; a.sonde has every allocation.
goes() {
	local code=$1
	shift
	run "$code" "$@"
	cp .out plain.out
	cp .err plain.err
	run "$code" "$SONDE" record -q --heap=full --force -o a.sonde -- "$@"
	cmp -s plain.out .out || fail "other output: $*"
	cmp -s plain.err .err || fail "other errors: $*"
	equal "$(metric a.sonde lost.count)" 0
}

# is FUNCTION CALLS ALLOCATED BLOCKS-LIVE LIVE, of all processes together.
is() {
	equal "$1 $(rows a.sonde heap | jq -r --arg f "$1" '[.[] | select(.function == $f)] |
		[.[].allocations], [.[].allocated_b], [.[].left_blocks], [.[].left_b] | total' | paste -sd ' ')" "$*"
}

# keeps TIMES: keeps_one() was called this often, and after() once.
keeps() {
	is keeps_one $((10 * $1)) $((770 * $1)) "$1" $((77 * $1))
	is after 100 100000 100 100000
}

# Threads that end at once, have a tiny stack, or share their parent's thread-local storage.
goes 0 "$threads" crowd
keeps 500
goes 0 "$threads" small
keeps 200
goes 0 "$threads" bare
keeps 100
goes 5 "$threads" outlives
keeps 1
goes 0 "$threads" ends
is ends 1200 79200 1200 79200

# Stacks that belong to no thread, and signal handlers that run at any time.
goes 0 "$threads" coroutines
is on_own_stack 1000 33000 0 0
is after 100 100000 100 100000
goes 0 "$threads" faults
is on_fault 10000 220000 0 0
is after 100 100000 100 100000
goes 0 "$threads" alternate
is on_other_stack 20000 1980000 0 0
goes 0 "$threads" errors
is do_errors 300000 44850000 0 0

# Descriptors: sonde takes none of the program's numbers, and the program may use or close any.
goes 0 "$processes" closes
keeps 1000
goes 0 "$processes" takes
keeps 1000
goes 0 "$processes" fills
keeps 201

# Processes that exec themselves, fork others, share memory with them, or leave their parents or their environment.
goes 0 "$processes" executes 50
keeps 51
goes 0 "$processes" descends 40
goes 0 "$processes" borrows
keeps 201
goes 0 "$processes" at_exit
is keeps_one 20 1540 2 154
goes 0 "$processes" clears
is keeps_one 1010 77770 101 7777
# The stacks of a program after exec are its own.
goes 0 "$(target odd_execs)" "$(target odd_execs)"
is takes_one 2 22 2 22
is takes_another 2 44 2 44
goes 0 sh -c 'rm -f made; "$0" detaches made; until [ -s made ]; do sleep 0.01; done; cat made' "$processes"
keeps 1000
