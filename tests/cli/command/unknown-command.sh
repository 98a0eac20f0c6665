# unknown-command.sh: a word that is no command: exit code 2, one sentence, the nearest command where one is near.
# tier: quick
. "$(dirname "$0")/../lib.sh"

run 2 "$SONDE" complation
equal "$out" ""
equal "$err" "sonde: no command 'complation'; the nearest is 'completion' ('sonde --help' lists them)"
run 2 "$SONDE" xyzzy
equal "$err" "sonde: no command 'xyzzy' ('sonde --help' lists them)"
run 2 "$SONDE" ./app
has "$err" "sonde record -- ./app"
run 2 "$SONDE" help xyzzy
has "$err" "no command 'xyzzy'"
run 2 "$SONDE" mann
lacks "$err" "'man'"
