# bad-file.sh: truncated, damaged and foreign files: whatever is intact is read and the rest is reported as missing; a
# file that is not a recording is rejected with exit code 4.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq python3

run 0 "$SONDE" record -q -o whole.sonde -- sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
whole=$(metric whole.sonde samples.count)
size=$(stat -c %s whole.sonde)

# Foreign files.
: >empty.sonde
echo 'hello' >text.sonde
head -c 100000 /dev/urandom >random.sonde
head -c 100000 /dev/zero >zeros.sonde
cp "$SONDE" program.sonde
for file in empty text random zeros program; do
	for command in report "export -f folded -o -" "export -f json -o -"; do
		run 4 "$SONDE" $command $file.sonde
		matches "$err" "^sonde [a-z]+: .*$file\.sonde"
		equal "$(wc -l <.err)" 1
		equal "$out" ""
	done
done
run 4 "$SONDE" report missing.sonde
matches "$err" 'missing\.sonde.*No such file'
steering=$(printf 'a\n\033[31m\xe2\x80\xae.sonde') # control characters in a file name never reach the terminal
run 4 "$SONDE" report "$steering"
equal "$err" "sonde report: a??[31m???.sonde: No such file or directory"
cp whole.sonde "$steering"
run 0 "$SONDE" export -f folded "$steering"
equal "$err" 'sonde export: wrote a\n\x1b[31m\u{202e}.folded'
run 4 "$SONDE" report .
if [ "$(id -u)" -ne 0 ]; then
	cp whole.sonde secret.sonde
	chmod 0 secret.sonde
	run 4 "$SONDE" report secret.sonde
	matches "$err" 'secret\.sonde.*Permission denied'
fi

# Truncated at any offset: either an error, or a report of at most the original content that says what is missing.
readable=0
for part in $(seq 1 20); do
	length=$((size * part / 21))
	head -c $length whole.sonde >cut.sonde
	code=0
	timeout 20 "$SONDE" report --json cut.sonde >.out 2>.err || code=$?
	case $code in
	0)
		jq -e . .out >/dev/null || fail "no JSON from $length bytes"
		holds_in .out '[.notes[] | select(.warning)] | length > 0'
		holds "$(jq '[.sections[] | select(.id == "summary").rows[] | select(.metric == "samples.count").value | numbers] | total' .out) <= $whole"
		readable=$((readable + 1))
		;;
	4) [ -s .err ] || fail "refused without a word at $length bytes" ;;
	*) fail "exit code $code at $length of $size bytes" ;;
	esac
done
echo "$readable of 20 lengths are readable"
holds "$readable >= 10"

# Single bytes changed: no crash, no hang, and never more samples than before.
python3 - <<'P'
import random
data = open("whole.sonde", "rb").read()
random.seed(7)
for i in range(30):
    bad = bytearray(data)
    for _ in range(1 + i % 4):
        bad[random.randrange(len(bad))] ^= 1 << random.randrange(8)
    open(f"bad{i}.sonde", "wb").write(bad)
P
figures=0
for i in $(seq 0 29); do
	code=0
	timeout 20 "$SONDE" report bad$i.sonde >.out 2>.err || code=$?
	[ $code -eq 0 ] || [ $code -eq 4 ] || fail "exit code $code for bad$i.sonde"
	[ $code -eq 0 ] || continue
	# If the damaged chunk is the only one with samples, there is no figure.
	count=$(rows bad$i.sonde summary | jq -r '.[] | select(.metric == "samples.count").value')
	[ "$count" = null ] && continue
	holds "$count <= $whole"
	figures=$((figures + 1))
done
holds "$figures >= 1"

# A damaged chunk of allocations: the heap over time is drawn from the others, as the heap's other sections are.
run 0 "$SONDE" record -q --heap=full -o heap.sonde -- python3 -c 'import json
kept = [json.dumps({str(i): [i] * 9}) for i in range(20000)]'
python3 - <<'P'
data = open("heap.sonde", "rb").read()
for i in range(24):
    bad = bytearray(data)
    bad[len(bad) * (2 * i + 1) // 48] ^= 0x55
    open(f"heap{i}.sonde", "wb").write(bad)
P
unread=0
for i in $(seq 0 23); do
	code=0 expected=0
	"$SONDE" report --section heap heap$i.sonde >.out 2>.err || expected=$?
	"$SONDE" report --section timeline heap$i.sonde >.out 2>.err || code=$?
	equal "$code" "$expected"
	! grep -q 'could not be read' .out || unread=$((unread + 1))
done
echo "$unread of 24 recordings have a chunk that could not be read"
holds "$unread >= 1"
