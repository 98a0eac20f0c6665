# heap-light.sh: record --heap=light only samples allocations, connects only processes that have a sample, and claims
# nothing that it does not know.
# measures: the overhead of recording
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
blocks=$(target blocks)
light() { # COMMAND…
	run 0 "$SONDE" record -q -f --heap=light -o a.sonde -- "$@"
}

# An estimate with its interval, for a program that prints what it allocated; the number of samples is as expected.
light "$blocks" sizes 60000 7
read -r allocated _ <.out
run 0 "$SONDE" report --section heap a.sonde
matches "$out" 'estimated from one block per 512 KiB on average'
estimate=$(metric a.sonde memory.heap_allocated_b)
# each sample stands for 512 KiB or for its own size; four standard deviations
near "$estimate" "$allocated" "(4 * sqrt($allocated * (524288 + 100000)))"
equal "$(rows a.sonde heap | jq '[.[] | select(.heap? == "mappings")] | length')" 0
run 0 "$SONDE" report a.sonde
! grep -q '^Leaks' .out || fail "leaks that nobody looked for"
run 0 "$SONDE" report --section leaks a.sonde
equal "$(grep -c 'leaks were not checked: record with --heap' .out)" 1

# Small programs are not even connected: nothing is claimed about them.
light true
lacks_metric a.sonde memory.heap_peak_b
run 0 "$SONDE" report a.sonde
matches "$(tr -s '\n ' ' ' <.out)" '! heap: not recorded: no sampled process allocated enough'

# An allocator in front of the hooks: no sample will ever come, which is reported without a connection.
light "$(target own_malloc)"
equal "$(rows a.sonde heaps | jq length)" 0
run 0 "$SONDE" report a.sonde
matches "$(tr -s '\n ' ' ' <.out)" '! heap: not recorded: 1 process has an allocator that precedes the hooks'

# Each process, forked ones too, and each thread has samples of its own.
light sh -c "'$blocks' sizes 60000 8; '$blocks' sizes 60000 9"
awk '{ sum += $1 } END { print sum }' .out >.both
near "$(metric a.sonde memory.heap_allocated_b)" "$(cat .both)" "(4 * sqrt($(cat .both) * (524288 + 100000)))"

# A leak checker finds the same as without sonde: sampled blocks do not look reachable.
if gcc -x c -fsanitize=address -o leaky - 2>gcc.err <<'C'; then
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void leak(void)
{
	for (int i = 0; i < 8; i++) {
		char *volatile block = malloc(4 << 20);
		memset(block, 1, 4 << 20);
	}
}
int main(void)
{
	leak();
	return 0;
}
C
	for mode in light full 100; do
		alone=0 recorded=0
		./leaky 2>alone.err || alone=$?
		"$SONDE" record -q -f --heap=$mode -o a.sonde -- ./leaky 2>recorded.err || recorded=$?
		equal "$mode: $recorded" "$mode: $alone"
		equal "$(grep -c 'Direct leak' recorded.err)" "$(grep -c 'Direct leak' alone.err)"
	done
fi
