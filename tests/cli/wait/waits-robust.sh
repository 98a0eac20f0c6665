# waits-robust.sh: programs behave the same when their waits and I/O are recorded, with allocations too: output,
# errors, exit code; also if descriptors, memory, a sandbox or the recorder cause trouble.
# timeout: 200
. "$(dirname "$0")/../lib.sh"
need jq
odd=$(target wait_odd)
export PYTHONHASHSEED=0

# go NAME COMMAND…: saves output, errors and exit code as NAME.*
go() {
	local name=$1 code=0
	shift
	{ timeout 60 "$@" >"$name.out" 2>"$name.err" </dev/null || code=$?; } 2>/dev/null
	echo $code >"$name.code"
}

# same COMMAND…: the same alone and recorded; programs that are not installed are skipped.
same() {
	local part how
	command -v "$1" >/dev/null || return 0
	go alone "$@"
	for how in "" --heap=full; do
		# shellcheck disable=SC2086
		go recorded "$SONDE" record -q --threads --io $how --force -o a.sonde -- "$@"
		for part in code out err; do
			cmp -s "alone.$part" "recorded.$part" && continue
			head -n 5 "alone.$part" "recorded.$part" >&2
			fail "$part is something else under --threads --io $how: $*"
		done
	done
}

# --- programs ------------------------------------------------------------------------------------------------------

cat >many.py <<'P'
import asyncio, os, signal, subprocess, sys, threading
lock, total = threading.Lock(), 0
def add():
    global total
    for i in range(2000):
        with lock:
            total += i
threads = [threading.Thread(target=add) for i in range(8)]
[t.start() for t in threads]
for i in range(10):
    assert subprocess.run(["/bin/echo", str(i)], capture_output=True, close_fds=True).stdout == b"%d\n" % i
[t.join() for t in threads]
async def tick(i):
    await asyncio.sleep(0.001)
    return i
async def main():
    return sum(await asyncio.gather(*[tick(i) for i in range(50)]))
ticks = 0
def on_alarm(*_):
    global ticks
    ticks += 1
signal.signal(signal.SIGALRM, on_alarm)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
r, w = os.pipe()
for i in range(3000):
    os.write(w, b"x")
    assert os.read(r, 1) == b"x"
    with lock:
        pass
signal.setitimer(signal.ITIMER_REAL, 0)
child = os.fork()
if not child:
    os.closerange(0, 64)
    os._exit(17)
print(total, asyncio.run(main()), os.waitpid(child, 0)[1] >> 8, ticks > 0)
P
same /usr/bin/python3 many.py
same /usr/bin/python3 -c 'import multiprocessing as m
if __name__ == "__main__":
    with m.Pool(3) as p: print(p.map(abs, range(-20, 20)))'
cat >pipes.sh <<'P'
exec 7<"$0" 9>&1
for i in 1 2 3 4 5; do (echo "sub $i" | cat | tr a-z A-Z >&9) & wait; done
read -r line <&7; echo "$line"; exec 7<&- 9>&-
echo gone >&9
ulimit -n 8; cat "$0" | wc -l; trap 'echo end' EXIT; kill -TERM $$
P
same bash pipes.sh
same dash pipes.sh
same perl -e 'use POSIX; open(F, ">", "made") or die; print F "x" x 100000; close F; print -s "made", "\n";
	for (1 .. 20) { if (!fork) { POSIX::_exit($_) } wait; print $? >> 8, "\n" } POSIX::close($_) for 3 .. 9; exec "false"'
printf 'all: %s\n' "$(seq -s ' ' 1 12 | sed 's/[0-9]*/t&/g')" >Makefile
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf 't%s:\n\t@sleep 0.01; test -d .\n' "$i"; done >>Makefile
same make -s -j4
same gcc --version
# Their libraries allocate for the first time under the C library's lock of locales.
same curl --version
same gdb --version
# Streams of the C library, and programs that read and write by themselves.
seq 1 20000 | awk '{ print $1, $1 * 7919 % 10007, "line of text" }' >text
printf '%s\n' 'create table t(a, b);' 'insert into t select value, value * 7 % 13 from generate_series(1, 5000);' \
	'select b, count(*) from t group by b;' 'select no_such(1);' >q.sql
same sh -c 'sqlite3 :memory: <q.sql'
same jq -R -c 'split(" ") | {a: .[0], b: (.[1] | tonumber)} | select(.b > 9990)' text
same zstd -9 -T2 -q -c text
same curl -s "file://$work/text"
same gcc -x c -O1 -S -o - - # empty input
same sh -c 'sort -k 2 -n text | uniq -c | tail -n 3; wc text; cut -d " " -f 2 text | tr 0-9 a-j | head -n 3; sha256sum <text; od -c text | head -n 3
	dd if=text bs=1000 count=3 2>/dev/null | cksum; split -b 100000 text part; cat part* | cmp - text; paste text text | tail -n 1; tee copy <text | wc -c
	cp text copy && mv copy other && cmp text other; cat text >/dev/full; echo $?; printf "%s\n" x >/dev/full; echo $?; yes | head -n 3; shuf --random-source=text text | md5sum'
same env -i /bin/sh -c 'ulimit -v 400000; exec ls /etc/passwd'

# --- targets -------------------------------------------------------------------------------------------------------

for mode in storm jump children closed futexes shared cancelled crowd many-locks churn; do
	same "$odd" $mode
done
# Children of threads, while others hold the dynamic loader's lock.
same "$(target fork_locked)"
same "$(target clone_shared)"

# In heap_sandbox every call by sonde would be punished.
for way in strict filter threads forks; do
	same "$(target heap_sandbox)" $way
done

# --- the recorder --------------------------------------------------------------------------------------------------

# A stopped recorder delays a program only briefly; a killed one does not delay it.
for signal in STOP KILL; do
	"$SONDE" record -q --threads --io --force -o a.sonde -- "$odd" crowd >.out 2>.err &
	recorder=$!
	sleep 0.3
	kill -$signal $recorder
	for ((i = 0; i < 300; i++)); do
		[ "$(cat .out)" != "total 200000" ] || break
		sleep 0.1
	done
	equal "$(cat .out)" "total 200000"
	kill -CONT $recorder 2>/dev/null || true
	{ wait $recorder || true; } 2>/dev/null
done

# Locks beyond the table's size have rows, without a name.
"$SONDE" record -q --threads --force -o a.sonde -- "$odd" many-locks >/dev/null
equal "$(rows a.sonde waits | jq '[.[] | select(.kind == "join").calls] | add')" 1
# Many threads that end at once: none finds the ring full while earlier ones are being read.
"$SONDE" record -q --threads --force -o a.sonde -- "$odd" churn >/dev/null
lacks "$("$SONDE" report -q --section waits a.sonde)" " of calls w"
# The program's own futexes.
"$SONDE" record -q --threads --force -o a.sonde -- "$odd" futexes >/dev/null
equal "$(rows a.sonde waits | jq -r '[.[] | select(.kind == "futex" and .function == "wait_for_word")] | length')" 1
# Files whose descriptors the C library closed.
"$SONDE" record -q --io --force -o a.sonde -- "$odd" closed >/dev/null
equal "$(rows a.sonde io | jq -r '[.[] | select(.file == "/dev/zero").reads] | add')" 1
