# bad-disk.sh: a full or read-only disk: the command is not disturbed, the message says what happened, and what was
# written before is readable.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
program=(sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; echo done; exit 5')

# Both outputs go through a pipe, which has no size limit.
piped() {
	"$@" 2>&1 | cat
	return "${PIPESTATUS[0]}"
}

# spoiled DIRECTORY PREFIX…: records into a directory without enough space.
spoiled() {
	local directory=$1
	shift
	run 5 piped "$@" "$SONDE" record -q --no-symbols -o "$directory/a.sonde" -- "${program[@]}"
	matches "$out" "^done$"
	matches "$out" "^sonde record: .*a\.sonde.*(No space left on device|File too large)"
	equal "$(wc -l <.out)" 2
	code=0
	"$SONDE" report "$directory/a.sonde" >.out 2>.err || code=$?
	[ $code -eq 0 ] || [ $code -eq 4 ] || fail "the rest of the recording: exit code $code"
}

# incomplete FILE WHY: the first lines of the report say so, and so do JSON and SQL.
incomplete() {
	run 0 "$SONDE" report "$1"
	matches "$(sed -n 3p .out)" "^! recording is incomplete: $2 after [0-9.]+ s of [0-9.]+ s$"
	run 0 "$SONDE" report --json "$1"
	matches "$(jq -r .incomplete .out)" "^$2 after [0-9.]+ s of [0-9.]+ s$"
	run 0 "$SONDE" query -q -f csv "$1" "SELECT incomplete FROM run WHERE is_closed = 0"
	matches "$out" "^$2 after"
}

# A file size limit in KB; its signal must not kill any process.
run 125 piped bash -c 'ulimit -f 0; exec "$@"' 0 "$SONDE" record -o a.sonde -- "${program[@]}"
equal "$out" "sonde record: a.sonde: cannot be written at byte 0: File too large"
for limit in 1 2 3; do
	spoiled . bash -c 'ulimit -f $0; exec "$@"' $limit
	rm -f a.sonde
done

run 5 bash -c 'ulimit -f 8; exec "$@"' 0 "$SONDE" record -q --no-symbols -F 10000 -o c.sonde -- sh -c \
	'i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done; exit 5'
incomplete c.sonde "file size limit reached \(ulimit -f\)"
# Nothing was lost: the command's own exit code.
run 5 "$SONDE" record -q --fail-on-loss -f -o c.sonde -- "${program[@]}"
run 0 "$SONDE" report --json c.sonde
equal "$(jq .incomplete .out)" null

# A disk that is full from the start, and one that fills up soon.
if [ "$(id -u)" -eq 0 ] && mkdir full && mount -t tmpfs -o size=32k none full 2>said; then
	at_exit() { umount "$work/full" 2>/dev/null; }
	head -c 28k /dev/zero >full/filling
	spoiled full
	rm full/a.sonde
	head -c 100k /dev/zero >full/filling 2>/dev/null || true
	code=0
	"$SONDE" record -q -o full/b.sonde -- "${program[@]}" >.out 2>.err || code=$?
	matches "$(cat .err)" '^sonde record: .*b\.sonde.*No space left on device'
	[ $code -eq 5 ] || [ $code -eq 125 ] || fail "exit code $code on a full disk"
	rm -f full/*
	head -c 12k /dev/zero >full/filling # room for the start of the recording
	run 125 "$SONDE" record -q --no-symbols --fail-on-loss -F 10000 -o full/c.sonde -- sh -c \
		'i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done; exit 5'
	incomplete full/c.sonde "disk full"
	rm -f full/c.sonde
	run 5 "$SONDE" record -q --no-symbols -F 10000 -o full/c.sonde -- sh -c \
		'i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done; exit 5'
	incomplete full/c.sonde "disk full"
	umount full
	at_exit() { :; }

	mount -t tmpfs -o ro none full
	run 125 "$SONDE" record -o full/a.sonde -- "${program[@]}"
	umount full
	matches "$err" '^sonde record: full/a\.sonde.*Read-only file system'
	equal "$out" ""
else
	echo "not root, or tmpfs cannot be mounted: no full disk"
fi

# A directory without write permission.
mkdir closed
chmod 555 closed
[ "$(id -u)" -ne 0 ] || chown root closed
run 125 as_user "$SONDE" record -o closed/a.sonde -- "${program[@]}"
matches "$err" '^sonde record: closed/a\.sonde.*Permission denied'
equal "$out" ""

# A cache that cannot be written only costs time.
run 5 env XDG_CACHE_HOME=/proc/nowhere HOME=/proc/nowhere "$SONDE" record -q -o b.sonde -- "${program[@]}"
equal "$err" ""
