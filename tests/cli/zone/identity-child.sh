# identity-child.sh: unusual children do not notice that they are recorded: musl, 32-bit, without descriptors or
# environment, killed by themselves, with 200 sleeping threads.
# measures: CPU time and switches of idle threads
# timeout: 120
. "$(dirname "$0")/../lib.sh"
behave=$(target behave)

# recorded CODE COMMAND…: its output is the same alone and recorded.
recorded() {
	local expected=$1 alone=0
	shift
	"$@" >alone.out 2>alone.err </dev/null || alone=$?
	equal "$alone" "$expected"
	run "$expected" "$SONDE" record -q --force -o a.sonde -- "$@"
	cmp alone.out .out || fail "something else is written"
	cmp alone.err .err || fail "something else is said"
	run 0 "$SONDE" report a.sonde
}

children=("$behave")
libraries=(glibc)
flags=(-std=gnu17 -D_GNU_SOURCE -O2 -g -pthread)
if command -v musl-gcc >/dev/null && musl-gcc "${flags[@]}" -o musl "$repo/tests/targets/behave.c" 2>said; then
	children+=(./musl) libraries+=(musl)
else
	echo "musl-gcc is not installed: no musl child"
fi
if command -v gcc >/dev/null && gcc -m32 "${flags[@]}" -o m32 "$repo/tests/targets/behave.c" 2>said; then
	children+=(./m32) libraries+=(32-bit)
else
	echo "gcc -m32 is not installed: no 32-bit child"
fi

for i in "${!children[@]}"; do
	child=${children[$i]}
	echo "a child of ${libraries[$i]}"
	recorded 0 "$child" facts
	recorded 0 "$child" closes
	holds "$(metric a.sonde samples.count) > 10"
	recorded 0 "$child" clears
	for signal in 6 9 11 15; do
		recorded $((128 + signal)) "$child" dies $signal
		matches "$(rows a.sonde processes | jq -r '.[0].status')" "signal $signal|SIG"
	done
	recorded 0 "$child" sleepers 40 300
	equal "$(cat alone.out)" "0 EINTR"
done
# Samples of 32-bit code have their leaf, and the report says what is missing.
if [ -x m32 ]; then
	run 0 "$SONDE" record -q --force -o m32.sonde -- ./m32 closes
	run 0 "$SONDE" report m32.sonde
	holds "$(metric m32.sonde samples.count) > 10"
fi

# The signal itself is raised again: the shell sees a signal, not an exit code.
set +e
python3 - "$SONDE" "$behave" <<'P'
import subprocess, sys
for number in (1, 6, 9, 11, 15):
    done = subprocess.run([sys.argv[1], "record", "-q", "--force", "-o", "s.sonde", "--", sys.argv[2], "dies", str(number)])
    if done.returncode != -number:
        sys.exit(f"signal {number} became {done.returncode}")
P
[ $? -eq 0 ] || fail "signals are not raised again"
set -e

# 200 idle threads: no call is interrupted, no thread is woken (a timer would wake each), and no CPU time is used for
# them.
"$behave" sleepers 200 1500 3>alone >/dev/null
run 0 "$SONDE" record -q --force -o idle.sonde -- "$behave" sleepers 200 1500 3>with
equal "$out" "0 EINTR"
read -r alone_us alone_switches <alone
read -r with_us with_switches <with
echo "200 idle threads: $alone_us µs and $alone_switches switches alone, $with_us µs and $with_switches recorded"
holds "$with_switches <= $alone_switches + 20"
holds "$with_us <= 2 * $alone_us + 2000"

# Standard input passes through, also to a child that reads it byte by byte, and a pipe without a terminal ends.
printf 'one\ntwo\n' >lines
"$SONDE" record -q --force -o a.sonde -- sh -c 'read a; read b; echo "$b $a"; read c || echo end' <lines >got
equal "$(cat got)" $'two one\nend'
