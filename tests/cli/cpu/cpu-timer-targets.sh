# cpu-timer-targets.sh: timers inside processes change nothing that a program can observe: signals, sleeps, forks,
# descriptors, limits, other C libraries and machine types. Programs that cannot be sampled are reported.
# measures: shares of CPU time
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need jq
ticks=$(target ticks) behave=$(target behave) split=$(target split)

record() { "$SONDE" record -q --force --no-perf -o t.sonde -- "$@"; }
detail() { rows t.sonde summary >/dev/null; "$SONDE" report --section summary t.sonde | tr -s ' \n' ' '; }

# The same output, errors and exit code with and without sonde.
same() {
	local code=0
	"$@" >expected 2>expected.err </dev/null || code=$?
	run "$code" "$SONDE" record -q --force --no-perf -o t.sonde -- "$@"
	cmp expected .out || fail "another output: $*"
	cmp expected.err .err || fail "other errors: $*"
}
same "$ticks" own
same "$ticks" urgent
same "$ticks" waits
for size in 2560 3072 8192; do
	same "$ticks" small $size
done
holds "$(share t.sonde total_share do_small) > 20" # outside the handler
same "$ticks" naps 500
same "$ticks" fiber 100
same "$ticks" spawns
same "$behave" closes
same "$behave" facts
same "$behave" clears
run 139 record "$behave" dies 11
run 137 record "$behave" dies 9

# 200 idle threads: no interrupted call, and no more CPU time than a tick or two.
same "$behave" sleepers 200 1000
"$behave" sleepers 200 500 3>alone >/dev/null
record "$behave" sleepers 200 500 3>beside >/dev/null
holds "$(cut -d' ' -f1 beside) < 2 * $(cut -d' ' -f1 alone) + 20000" "(µs of CPU time of idle threads)"

# Limits that are too tight: the process is not recorded, and nothing breaks.
same bash -c 'ulimit -n 4; exec "$0" 0.1' "$split"
same bash -c 'ulimit -v 100000; exec "$0" 0.1' "$split"
same bash -c 'ulimit -i 0; exec "$0" 0.1 2' "$split"
same bash -c 'ulimit -s 256; exec "$0" 0.1' "$split"

# Many forks and execs.
echo 'i=0; while [ $i -lt 400 ]; do /bin/true || exit 9; i=$((i + 1)); done' >storm.sh
run 0 record sh storm.sh
equal "$(metric t.sonde run.processes)" 401
crowd=$(target crowd)
run 0 record "$crowd" family 60
equal "$(rows t.sonde processes | jq length)" 4
holds "$(metric t.sonde samples.cpu_time_s) > 0.97 * $(metric t.sonde timing.cpu_time_s) - 0.01"
run 0 record "$crowd" exec 100
equal "$(rows t.sonde processes | jq length)" 1
holds "$(metric t.sonde samples.cpu_time_s) > 0.97 * $(metric t.sonde timing.cpu_time_s) - 0.01"
# A reused pid is another process.
if unshare -pf --mount-proc sh -c 'echo 500 >/proc/sys/kernel/ns_last_pid' 2>/dev/null; then
	echo 'for i in 1 2 3 4; do echo 500 >/proc/sys/kernel/ns_last_pid; "$1" 0.1; done' >again.sh
	run 0 unshare -pf --mount-proc "$SONDE" record -q --force --no-perf -o t.sonde -- bash again.sh "$split"
	equal "$(rows t.sonde processes | jq length)" 5
fi
run 0 record "$crowd" threads 40 20
holds "$(metric t.sonde samples.cpu_time_s) > 0.97 * $(metric t.sonde timing.cpu_time_s) - 0.01"

# A stopped recorder does not block the program.
echo 'kill -STOP $PPID; for i in 1 2 3; do timeout 4 "$1" 0.2 || echo "held up: $?"; done; kill -CONT $PPID' >stops.sh
run 0 record bash stops.sh "$split"
lacks "$out" "held up"
holds "$(metric t.sonde samples.not_sampled_s) > 0.3"

# Samples that do not fit are counted: 200 threads, and room for 16.
run 0 "$SONDE" record -q --force --no-perf --buffer 1M -o t.sonde -- "$crowd" threads 200 20
holds "$(metric t.sonde lost.count) > 0"
matches "$(detail)" 'cpu: [0-9]+ lost: ring full'

# Programs that cannot be sampled still run, and are listed with the reason.
same "$(target split_static)" 0.3
has "$(detail)" "1 process was not sampled (split_static): statically linked"
lacks_metric t.sonde samples.count # nothing could be sampled
holds "$(metric t.sonde timing.cpu_time_s) > 0.2"
same env -i "$split" 0.4
has "$(detail)" "their own environment"
record "$ticks" clones 2000
has "$(detail)" "1 thread was not sampled"
if echo 'int main(void) { for (volatile long i = 0; i < 1500000000; i++) ; return 7; }' >burn.c && gcc -m32 -o burn32 burn.c 2>/dev/null; then
	same ./burn32
	has "$(detail)" "of another architecture"
fi
if command -v musl-gcc >/dev/null && musl-gcc -O2 -D_GNU_SOURCE -o musl "$repo/tests/targets/behave.c" 2>/dev/null; then
	same ./musl facts
	same ./musl sleepers 20 300
fi

# A sanitizer must be loaded first, and checks reads of stacks.
for sanitizer in address thread; do
	gcc -O1 -g "-fsanitize=$sanitizer" -o "with_$sanitizer" "$repo/tests/targets/crowd.c" -lpthread 2>/dev/null || continue
	same "./with_$sanitizer" threads 4 50
	if [ $sanitizer = thread ]; then # which delays signals until the thread makes a call, often for ever
		holds "$(metric t.sonde samples.cpu_time_s) > 0.97 * $(metric t.sonde timing.cpu_time_s) - 0.01"
	else
		holds "$(metric t.sonde samples.count) >= 1"
	fi
done

# --no-inject rules timers out, and a running process cannot be entered.
run 0 "$SONDE" record --force --no-perf --no-inject -o t.sonde -- "$split" 0.1
has "$(detail)" "without --no-inject"
