# io-stdio.sh: the bytes that streams of the C and C++ libraries read and write are recorded exactly, and the streams
# work as without sonde.
# measures: wait times, against the program's own
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
stdio=$(target io_stdio)
mkdir d e

record() {
	run 0 "$SONDE" record -q --io --force -o a.sonde -- "$@"
	rows a.sonde io >files.json
}
file() { # NAME COLUMN: of the file whose name ends so
	jq -r --arg name "$1" --arg column "$2" '[.[] | select(.file | endswith($name))[$column]] | total' files.json
}

record "$stdio" writes d
for name in printed large unbuffered lines chars wide descriptor second left-open; do
	equal "$name $(file "/$name" written_b)" "$name $(stat -c %s "d/$name")"
done
equal "$(stat -c %s d/printed)" 90000
equal "$(file /first written_b)" 5
equal "$(file /unbuffered writes) $(file /lines writes) $(file /descriptor writes)" "100 100 100"
equal "$(file /printed writes)" "$(((90000 + 4095) / 4096))" # of one block each
equal "$(file /chars writes)" 5
equal "$(file /left writes)" 0
equal "$(rows a.sonde waits | jq '[.[] | select(.kind == "write" and .function == "print_lines").calls] | add')" 21

for i in 2 3 4 5 6; do cp d/printed d/printed-$i; done
record "$stdio" reads d
for i in "" -2 -3 -4 -6; do
	equal "printed$i $(file "/printed$i" read_b)" "printed$i 90000"
done
[ "$(file /printed-5 read_b)" -ge 65536 ] || fail "fread() and what is read again: $(file /printed-5 read_b)"
equal "$(rows a.sonde waits | jq '[.[] | select(.kind == "read" and .function == "read_lines").calls] | add')" 23

# A stream without a descriptor reads and writes nothing: only the program's own output remains.
record "$stdio" custom d
equal "$(jq '[.[].read_b] | total' files.json)" 0
equal "$(jq '[.[].written_b] | add' files.json)" "$(wc -c <.out)"

# Data that exit() flushes.
record "$stdio" ends d
equal "$out" "first
at the end
in a destructor"
equal "$(jq '[.[].written_b] | add' files.json)" "$(wc -c <.out)"

if [ -x "$SONDE_BUILD/tests/targets/io_stream" ]; then
	record "$(target io_stream)" d/stream
	equal "$out" 110000
	equal "$(file /stream written_b) $(file /stream read_b)" "110000 110000"
fi

# Locks of C11 threads and timed locks are recorded.
"$SONDE" record -q --threads --force -o a.sonde -- "$stdio" c11 d >/dev/null
rows a.sonde waits >waits.json
seen() { # KIND FUNCTION
	jq -r --arg kind "$1" --arg function "$2" '[.[] | select(.kind == $kind and .function == $function).total_ns] | total' waits.json
}
[ "$(seen mutex wait_for_c11)" -ge 20000000 ] || fail "mtx_lock() waited for 50 ms"
[ "$(seen condition wait_for_signal)" -ge 50000000 ] || fail "cnd_wait() waited for 100 ms"
[ "$(seen sleep c11)" -ge 100000000 ] || fail "thrd_sleep() slept for 100 ms"
"$SONDE" record -q --threads --force -o a.sonde -- "$stdio" timed d >/dev/null
rows a.sonde waits >waits.json
[ "$(seen "write lock" write_timed)" -ge 20000000 ] || fail "pthread_rwlock_timedwrlock() waited for 50 ms"

# Programs that check their own memory (sanitizers) let their stacks be read.
printf '%s\n' '#include <stdio.h>' 'int main(void)' '{' '	char line[256];' '	FILE *file = fopen("/etc/passwd", "r");' \
	'	return !file || !fgets(line, sizeof line, file) || fclose(file) || puts("read") < 0;' '}' >watched.c
for sanitizer in address thread; do
	gcc -g -fsanitize=$sanitizer watched.c -o watched 2>/dev/null || continue
	./watched >alone.out 2>&1 || continue # it does not start on this machine
	record ./watched
	equal "$sanitizer: $out" "$sanitizer: read"
done

# The same output, errors, exit code and files as without sonde.
go() { # NAME DIRECTORY COMMAND…
	local name=$1 code=0
	shift
	{ timeout 60 "$@" >"$name.out" 2>"$name.err" </dev/null || code=$?; } 2>/dev/null
	echo $code >"$name.code"
}
for mode in writes reads custom failing storm crowd forks ends closed c11 timed; do
	rm -rf e f
	mkdir e f
	cp d/printed* e
	cp d/printed* f
	go alone "$stdio" $mode e
	go recorded "$SONDE" record -q --threads --io --force -o a.sonde -- "$stdio" $mode f
	for part in code out err; do
		cmp -s alone.$part recorded.$part && continue
		head -n 5 alone.$part recorded.$part >&2
		fail "$part of $mode is something else under --io"
	done
	equal "$(cat alone.code)" 0
	[ $mode = storm ] || [ $mode = crowd ] || diff -r e f >&2 || fail "files of $mode are something else under --io"
done
# On a full disk, and without standard output.
for where in ">/dev/full" ">&-" ">/dev/null 2>&-"; do
	code=0 recorded=0
	eval "'$stdio' ends d $where" 2>/dev/null || code=$?
	eval "'$SONDE' record -q --io --force -o a.sonde -- '$stdio' ends d $where" 2>/dev/null || recorded=$?
	equal "$where $recorded" "$where $code"
done
