# record-exit.sh: sonde record exits like its command, leaves its output alone, and reports errors before it starts.
. "$(dirname "$0")/../lib.sh"

for code in 0 1 3 42 125 255; do
	run $code "$SONDE" record --force -o a.sonde -- sh -c "exit $code"
	[ -s a.sonde ] || fail "no recording after exit code $code"
done
run 143 "$SONDE" record --force -o a.sonde -- sh -c 'kill -TERM $$'
run 137 "$SONDE" record --force -o a.sonde -- sh -c 'kill -KILL $$'
run 0 "$SONDE" report --section processes -f csv a.sonde
matches "$out" 'signal 9|SIGKILL|[Kk]illed'

run 127 "$SONDE" record -o b.sonde -- ./no-such-program
has "$err" "no-such-program"
has "$err" "No such file"
[ -e b.sonde ] && fail "a recording of nothing"
echo 'exit 0' >plain
run 126 "$SONDE" record -o b.sonde -- ./plain
has "$err" "Permission denied"
run 126 "$SONDE" record -o b.sonde -- /tmp

# A command that is killed before it could run ends the same way.
if command -v cc >/dev/null; then
	cc -shared -fPIC -o killer.so -x c - <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>
long syscall(long number, ...)
{
	va_list list;
	long words[6];
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(list, long);
	va_end(list);
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long result = real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
	if (number == SYS_clone && result == 0)
		kill(getpid(), SIGKILL);
	return result;
}
C
	run 137 env LD_PRELOAD="$PWD/killer.so" "$SONDE" record -q --force -o a.sonde -- true
	equal "$err" ""
	run 0 "$SONDE" report --section processes -f csv a.sonde
	matches "$out" 'signal 9|SIGKILL|[Kk]illed'
fi

# The command's input and output pass through byte for byte.
head -c 100000 /dev/urandom >bytes
"$SONDE" record -q --force -o a.sonde -- cat <bytes >copy 2>said || fail "cat failed"
cmp bytes copy
[ -s said ] && fail "-q says: $(cat said)"
run 0 "$SONDE" record --force -o a.sonde -- sh -c 'echo out; echo err >&2'
equal "$out" "out"
matches "$err" '^err$'
matches "$err" '^sonde: .* in a\.sonde'
run 0 "$SONDE" record --force -o a.sonde -- sh -c 'ls /proc/self/fd | tr "\n" " "'
plain=$(sh -c 'ls /proc/self/fd | tr "\n" " "' </dev/null 2>/dev/null)
equal "$out" "$plain"

# Names: the command's with its pid; existing files are kept unless -f is given.
rm -f ./*.sonde
run 0 "$SONDE" record -- true
matches "$(ls)" '^true\.[0-9]+\.sonde$'
echo precious >a.sonde
run 125 "$SONDE" record -o a.sonde -- true
has "$err" "a.sonde"
has "$err" "--force"
equal "$(cat a.sonde)" precious

# Wrong usage is exit code 125, and the message says what to change.
run 125 "$SONDE" record
has "$err" "sonde record -- ./app"
run 125 "$SONDE" record --rate 0 -- true
run 125 "$SONDE" record --rate 1000000 -- true
matches "$err" '10000'
run 125 "$SONDE" record --rat 5 -- true
has "$err" "--rate"
run 125 "$SONDE" record -p 999999999 -d 1s
run 125 "$SONDE" record -o /proc/none/a.sonde -- true
has "$err" "/proc/none/a.sonde"
run 0 "$SONDE" record -F99 --force -o a.sonde true
