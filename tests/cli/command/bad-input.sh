# bad-input.sh: wrong commands, numbers and paths: the right exit code, a message that says why, and no recording if
# nothing was recorded.
# tier: quick
. "$(dirname "$0")/../lib.sh"

# refused CODE WORDS ARGUMENT…: `sonde record` prints one line that contains WORDS and its own name, and leaves no
# recording.
refused() {
	local code=$1 words=$2
	shift 2
	run "$code" "$SONDE" record -o none.sonde "$@"
	matches "$err" "^sonde record: .*$words"
	equal "$(wc -l <.err)" 1
	equal "$out" ""
	[ ! -e none.sonde ] || fail "a recording of nothing: $*"
}

# Commands that cannot be executed.
refused 127 "No such file or directory" -- no-such-command
refused 127 "No such file or directory" -- ./no/such/command
mkdir -p closed
chmod 0 closed
PATH=$work/closed:$PATH refused 127 "No such file or directory" -- no-such-command
refused 127 "No such file or directory" -- ""
echo 'exit 0' >plain
printf '#!/no/such/interpreter\n' >script
chmod 755 script
refused 126 "Permission denied" -- ./plain
refused 126 "Permission denied" -- /
refused 127 "No such file or directory" -- ./script

# Numbers that are not valid.
for rate in 0 -1 1e9 1000000000 99999999999999999999999 fast "" 10.5.1 nan 0x; do
	refused 125 "rate" -F "$rate" -- true
done
for duration in -1s ten 5parsecs; do
	refused 125 "duration" -d "$duration" -- true
done
refused 125 "buffer" --buffer 12 -- true
refused 125 "buffer" --buffer lots -- true
refused 125 "stack" --stack 1 -- true
refused 125 "on-full" --on-full explode -- true
refused 125 "when" --when 'zone=a>1ms' -- true
refused 125 "" --keep 1s --when 'nonsense' -- true
refused 125 "zones and spans" -p $$ -d 100ms --keep 1s --when 'zone=a>1ms'

# Processes that do not exist; -p together with a command.
for pid in 0 -5 4194304 99999999999 self; do
	refused 125 "" -p "$pid" -d 100ms
done
sleep 0 &
gone=$!
wait $gone
refused 125 "No such process" -p $gone -d 100ms
refused 125 "exclude each other" -p $$ -- true

# Output paths.
echo precious >taken.sonde
run 125 "$SONDE" record -o taken.sonde -- sh -c 'touch ran'
matches "$err" '^sonde record: taken\.sonde.*exists.*--force'
equal "$(cat taken.sonde)" precious
[ ! -e ran ] || fail "the command was run before the output was looked at"
for wrong in "127 ./no-such-command" "126 ./plain"; do
	run "${wrong%% *}" "$SONDE" record --force -o taken.sonde -- "${wrong#* }"
	equal "$(cat taken.sonde)" precious
	equal "$(echo taken.sonde*)" taken.sonde
done
run 125 "$SONDE" record --force -o taken.sonde -p $gone -d 100ms
equal "$(cat taken.sonde)" precious
run 125 "$SONDE" record -o no/such/place.sonde -- sh -c 'touch ran'
matches "$err" '^sonde record: no/such/place\.sonde.*No such file or directory'
run 125 "$SONDE" record -o . -- sh -c 'touch ran'
matches "$err" '^sonde record: \.'
run 125 "$SONDE" record -o "" -- sh -c 'touch ran'
[ ! -e ran ] || fail "the command was run although its recording has no place"

# An output that is a device node stays when nothing was recorded.
if [ "$(id -u)" -eq 0 ] && mknod null c 1 3 2>said; then
	run 127 "$SONDE" record --force -o null -- ./no-such-command
	[ -c null ] || fail "the device is gone"
fi

# Commands that run no program exit with 2 on wrong usage.
run 2 "$SONDE" report --limit -1 taken.sonde
run 2 "$SONDE" report a b
# A duration of 0 is rejected, as limit and as flight recorder.
refused 125 "the minimum is 1ms" -d 0 -- true
refused 125 "the minimum is 1ms" --keep 0s -- true
# What cannot be recorded of a running process, or without injection, is rejected with the reason.
refused 125 "earlier allocations of a running process are unknown" --heap -p $$
refused 125 "which must be started by sonde" --io -p $$
refused 125 "leave --no-inject out" --heap --no-inject -- true
refused 125 "leave --no-inject out" --io --no-inject -- true
refused 125 "need --energy: add it" --country FR -- true
