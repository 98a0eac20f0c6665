# waits-short.sh: processes that make a few calls and exit are recorded without a connection of their own: every call
# with its complete stack, also if they are killed, exec, fork or create a thread; and nothing is recorded twice.
# measures: wait times, against the program's own
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
short=$(target short_calls)

# file NAME COLUMN: for the file whose name ends in NAME, from a.sonde
file() {
	rows a.sonde io | jq -r --arg name "$1" --arg column "$2" '[.[] | select(.file | endswith($name))[$column]] | total'
}
# check FILE COUNT: as many writes of one byte as the file holds, all with complete stacks.
check() {
	equal "$(file "/$1" writes) $(file "/$1" written_b)" "$2 $2"
	equal "$(stat -c %s "$1")" "$2"
	equal "$(rows a.sonde waits | jq '[.[] | select(.function == "write_one").calls] | add')" "$2"
	run 0 "$SONDE" report --section waits a.sonde
	lacks "$out" "stacks of "
	lacks "$err" "invalid"
}

# A process with few events uses the recorder's shared memory and has no rings; one with more has rings.
run 0 "$SONDE" record -q --io --force -o a.sonde -- grep -c -e memfd:sonde-early /proc/self/maps
if [ "$out" = 1 ]; then
	has_slots=1
	run 1 "$SONDE" record -q --io --force -o a.sonde -- grep -c -e memfd:sonde-pool /proc/self/maps
	equal "$out" 0
else
	has_slots=0
	equal "$out" 0 # it connects if /proc is restricted or processes of the same user may not be read
fi

# 10 calls fit; of 3000 most come after the connection, and files keep their names.
for count in 10 3000; do
	for end in exit exec fork thread handler; do
		rm -f file
		run 0 "$SONDE" record -q --io --force -o a.sonde -- "$short" file $count $end
		[ $end = exit ] && check file $count || check file $((2 * count))
		equal "$(rows a.sonde wait-kinds | jq '.[] | select(.kind == "open").calls')" "$([ $end = exec ] && echo 2 || echo 1)"
	done
	rm -f file
	{ run 137 "$SONDE" record -q --io --force -o a.sonde -- "$short" file $count kill; } 2>/dev/null
	check file $count
	rm -f file
	run 0 "$SONDE" record -q --io --force -o a.sonde -- "$short" file $count share
	seen=$(($(file /file writes) - 2 * count)) # the one write of a child that shares the memory may be seen
	[ $seen -eq 0 ] || [ $seen -eq 1 ] || fail "$seen writes of a child that made one"
done

# A program that is started through the loader is not the one that the kernel executed.
for loader in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do
	[ -x $loader ] || continue
	rm -f file
	run 0 "$SONDE" record -q --io --force -o a.sonde -- $loader "$short" file 10 exit
	check file 10
done

# A child of a process with rings starts anew, with a slot in the shared memory.
run 0 "$SONDE" record -q --io --force -o a.sonde -- bash -c 'for ((i = 0; i < 3000; i++)); do echo; done >file
	(mapfile -t maps </proc/self/maps; [[ "${maps[*]}" != *memfd:sonde-early* ]] || echo a slot)'
[ $has_slots -eq 0 ] || equal "$out" "a slot"
equal "$(file /file writes)" 3000

# Many of them, more at once than the memory has slots for.
rm -f file
run 0 "$SONDE" record -q --io --threads --force -o a.sonde -- sh -c \
	"for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5 6 7 8 9 10; do $short file 7 exit & done; wait; done"
check file 700
equal "$(rows a.sonde processes | jq length)" 101

# Sleeping: each process has a single call.
run 0 "$SONDE" record -q --threads --force -o a.sonde -- sh -c \
	'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done; wait'
equal "$(rows a.sonde wait-kinds | jq '.[] | select(.kind == "sleep").calls')" 10
[ "$(rows a.sonde wait-kinds | jq '.[] | select(.kind == "sleep").total_ns')" -ge 100000000 ] || fail "slept less"

# Processes of another user, who may not open the recorder's memory, connect.
if [ "$(id -u)" -eq 0 ]; then
	rm -f file
	chmod 777 .
	run 0 "$SONDE" record -q --io --force -o a.sonde -- setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$short" "$work/file" 10 exec
	check file 20
fi

# That memory never contains the stack of a process that does not let itself be read, nor what the recorder has already
# taken; the calls are recorded all the same.
secret=$(target early_secret)
for order in before after raw taken; do
	rm -f file
	run 0 "$SONDE" record -q --io --force -o a.sonde -- "$secret" $order file
	[ $has_slots -eq 1 ] && matches "$out" "^0 words of [0-9]+ slots" || equal "$out" "no slots"
	equal "$(file /file writes)" 1
	# An ordinary user's recorder may not read where its functions are, either.
	[ "$(id -u)" -ne 0 ] && [ $order != taken ] ||
		equal "$(rows a.sonde waits | jq '[.[] | select(.function == "write_secret").calls] | add')" 1
done

# If processes of the same user may not be read, there is no such memory.
cat >yama.sh <<'S'
mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && echo 3 >/proc/sys/kernel/yama/ptrace_scope && exec "$@"
S
if [ "$(id -u)" -eq 0 ] && unshare -m sh yama.sh true 2>.err; then
	rm -f file
	run 0 unshare -m sh yama.sh "$SONDE" record -q --io --force -o a.sonde -- "$secret" taken file
	equal "$out" "no slots"
	equal "$(file /file writes)" 1
fi

# Invalid content in that memory is counted and does no harm.
liar=$(target early_liar)
for seed in $([ $has_slots -eq 1 ] && seq 8); do
	run 0 "$SONDE" record -q --io --force -o a.sonde -- "$liar" $seed
	matches "$out" "^[1-9][0-9]* slots"
	run 0 "$SONDE" report a.sonde
	has "$(tr -s ' \n' ' ' <<<"$out")" "invalid words"
done

# The program's own functions with names that hooks might call are not called.
own=$(target own_names)
for how in --threads\ --io --heap=full --heap=light --no-perf; do
	# shellcheck disable=SC2086
	run 0 "$SONDE" record -q $how --force -o a.sonde -- "$own"
	equal "$how: $out" "$how: done"
done
