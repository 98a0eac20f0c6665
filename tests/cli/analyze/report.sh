# report.sh: options of sonde report: which file, sections and format, where the output goes, and the message if it
# fails.
. "$(dirname "$0")/../lib.sh"

run 2 "$SONDE" report
has "$err" "no recording (*.sonde) here"
has "$err" "sonde record -- COMMAND"

run 0 "$SONDE" record -q -o old.sonde -- sh -c 'echo first >/dev/null'
sleep 0.05
run 0 "$SONDE" record -q -o new.sonde -- sh -c 'echo second >/dev/null'
run 0 "$SONDE" report
has "$out" "new.sonde"
has "$out" "echo second"
run 0 "$SONDE" report old.sonde
has "$out" "echo first"
lacks "$out" $'\033'

# The duration that `sonde record` prints is the wall time of the report.
run 0 "$SONDE" record -o timed.sonde -- sleep 0.2
said=$(sed -n 's/^sonde: \([0-9.]*\) s, .*/\1/p' <<<"$err")
equal "$said" "$("$SONDE" report -q --json --section summary timed.sonde | jq '.sections[0].rows[] | select(.metric == "timing.wall_time_s").value' | xargs printf %.2f)"
rm timed.sonde
# An output file with an unknown extension contains text, and a message says so.
run 0 "$SONDE" report -o odd.foo old.sonde
has "$err" "unknown extension 'odd.foo': writing text; -f sets the format"
run 0 "$SONDE" report -o plain.txt old.sonde
lacks "$err" "unknown extension"

# Options may stand before or after the file.
run 0 "$SONDE" report --json old.sonde
holds_in .out '.schema == "sonde-report"'
before=$out
run 0 "$SONDE" report old.sonde -f json
equal "$out" "$before"
run 0 "$SONDE" report --section summary old.sonde
has "$out" "timing.wall_time_s"
run 0 "$SONDE" report old.sonde --section summary,processes --json
equal "$(jq -r '[.sections[].id] | join(" ")' .out)" "summary processes"
run 0 "$SONDE" report old.sonde --section processes --limit 1 --sort name

# An unknown name is rejected with a suggestion.
run 2 "$SONDE" report --section sumary old.sonde
has "$err" "unknown section 'sumary'; did you mean summary?"
run 2 "$SONDE" report -f jsn old.sonde
has "$err" "unknown format 'jsn'; did you mean json?"
run 2 "$SONDE" report --sort selff old.sonde
has "$err" "did you mean self?"
run 2 "$SONDE" report --limit many old.sonde
has "$err" "--limit many is not a number"
run 2 "$SONDE" report --thread 1 old.sonde
has "$err" "no thread 1"
run 2 "$SONDE" report --thread nobody old.sonde
has "$err" "no thread nobody in the recording"
tid=$(rows old.sonde threads | jq '.[0].tid') name=$(rows old.sonde threads | jq -r '.[0].thread')
run 0 "$SONDE" report --thread "$tid" old.sonde
has "$out" "selected: 1 thread with tid $tid;"
run 0 "$SONDE" report --thread "$name" old.sonde
matches "$out" "selected: [0-9]+ threads? named $name;"
run 2 "$SONDE" report --from soon old.sonde
has "$err" "soon"
run 2 "$SONDE" report --from 1h old.sonde
has "$err" "--from 1h is past the end of the recording"
run 2 "$SONDE" report --from 2us --to 1us old.sonde
has "$err" "--to 1us must be later than 2us"
run 2 "$SONDE" report old.sonde new.sonde
has "$err" "one recording at a time"

# Output files: the extension selects the format, an existing file is not overwritten, and a failure leaves no file.
run 0 "$SONDE" report -o r.json old.sonde
jq -e . r.json >/dev/null || fail "r.json is no JSON"
has "$err" "wrote r.json"
equal "$out" ""
echo precious >r.csv
run 2 "$SONDE" report -o r.csv old.sonde
has "$err" "r.csv exists"
equal "$(cat r.csv)" precious
run 0 "$SONDE" report -q --force -o r.csv --section summary old.sonde
equal "$err" ""
matches "$(cat r.csv)" '^metric|timing'
run 2 "$SONDE" report --section none -o never.json old.sonde
[ -e never.json ] && fail "a file is left behind by a failure"
if [ -w /dev/full ]; then
	code=0
	"$SONDE" report old.sonde >/dev/full 2>.err || code=$?
	equal "$code" 4
	has "$(cat .err)" "No space left on device"
	code=0
	"$SONDE" report -f svg old.sonde >/dev/full 2>.err || code=$? # more than one buffer
	equal "$code" 4
	has "$(cat .err)" "No space left on device"
fi
code=0
"$SONDE" report -f json old.sonde >&- 2>.err || code=$?
[ $code -ne 0 ] || fail "a report on a closed output"
has "$(cat .err)" "Bad file descriptor"

# A report does not overwrite its own recording, under whatever name.
ln -s old.sonde same.sonde
for name in old.sonde ./same.sonde; do
	run 2 "$SONDE" report -o $name --force old.sonde
	has "$err" "is the recording itself"
done
run 0 "$SONDE" report old.sonde

# Unreadable files: exit code 4.
run 4 "$SONDE" report none.sonde
has "$err" "none.sonde"
echo "not a recording" >text.sonde
run 4 "$SONDE" report text.sonde
has "$err" "text.sonde"
: >empty.sonde
run 4 "$SONDE" report empty.sonde
run 4 "$SONDE" report /

# A truncated recording is read as far as possible, with a note.
head -c $(($(stat -c %s old.sonde) - 40)) old.sonde >cut.sonde
run 0 "$SONDE" report cut.sonde
matches "$out" 'could not be read'

# Colours on a terminal, unless NO_COLOR is set.
if command -v script >/dev/null; then
	TERM=xterm script -qec "$SONDE report old.sonde" /dev/null </dev/null >colours
	grep -q $'\033\[' colours || fail "no colours on a terminal"
	NO_COLOR=1 TERM=xterm script -qec "$SONDE report old.sonde" /dev/null </dev/null >plain
	grep -q $'\033\[' plain && fail "colours in spite of NO_COLOR"
fi
exit 0
