# help.sh: help lists every command and every option of each command; the version is one line.
# tier: quick
. "$(dirname "$0")/../lib.sh"

run 0 "$SONDE" --help
has "$out" "Usage: sonde COMMAND"
commands=$(sed -n 's/^  \([a-z]*\) .*/\1/p' .out)
[ -n "$commands" ] || fail "no command is listed"
has " ${commands//$'\n'/ } " " completion "
lacks " ${commands//$'\n'/ } " " man "
for command in $commands; do
	run 0 "$SONDE" "$command" --help
	matches "$out" "^Usage: sonde $command"
	matches "$out" '^  -h, --help'
	equal "$err" ""
	fits 80
	before=$out
	run 0 "$SONDE" help "$command"
	equal "$out" "$before"
done
run 0 "$SONDE" --help
fits 80

run 0 "$SONDE" --version
matches "$out" '^sonde [0-9]+\.[0-9]+\.[0-9]+$'
run 2 "$SONDE"
equal "$out" ""
has "$err" "Usage: sonde COMMAND"

# A write error is not exit code 0.
for words in --help --version "help report" "completion bash" "advise --rules" "query --tables"; do
	code=0
	"$SONDE" $words >/dev/full 2>.err || code=$?
	equal "$code $(cat .err)" "4 sonde: standard output: No space left on device; the output is incomplete"
done
