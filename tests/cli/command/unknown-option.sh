# unknown-option.sh: an unknown option: exit code 2, with a suggestion if an option is similar.
# tier: quick
. "$(dirname "$0")/../lib.sh"

run 0 "$SONDE" --help
for command in $(sed -n 's/^  \([a-z]*\) .*/\1/p' .out); do
	code=2
	case $command in record | stat | top | live) code=125 ;; esac # commands that run a program leave 2 to that program
	run $code "$SONDE" "$command" --xyzzy-plugh
	equal "$out" ""
	equal "$err" "sonde $command: unknown option --xyzzy-plugh ('sonde $command --help' lists them)"
done
