# unknown-option.sh: an option that no command has: exit code 2, and the nearest one where one is near.
# tier: quick
. "$(dirname "$0")/../lib.sh"

run 0 "$SONDE" --help
for command in $(sed -n 's/^  \([a-z]*\) .*/\1/p' .out); do
	code=2
	case $command in record | stat | top | live) code=125 ;; esac # commands that run a program keep 2 for that program
	run $code "$SONDE" "$command" --xyzzy-plugh
	equal "$out" ""
	equal "$err" "sonde $command: unknown option --xyzzy-plugh ('sonde $command --help' lists them)"
done
