# unknown-command.sh: an unknown command: exit code 2, one line, with a suggestion if a command is similar.
# tier: quick
. "$(dirname "$0")/../lib.sh"

run 2 "$SONDE" complation
equal "$out" ""
equal "$err" "sonde: unknown command 'complation'; did you mean 'completion'? ('sonde --help' lists them)"
run 2 "$SONDE" xyzzy
equal "$err" "sonde: unknown command 'xyzzy' ('sonde --help' lists them)"
run 2 "$SONDE" ./app
has "$err" "sonde record -- ./app"
run 2 "$SONDE" help xyzzy
has "$err" "unknown command 'xyzzy'"
run 2 "$SONDE" mann
lacks "$err" "'man'"
