# man.sh: the manual page has every command and option, and roff reads it without a warning.
# tier: quick
. "$(dirname "$0")/../lib.sh"
need man

run 0 "$SONDE" man
cp .out sonde.1
MANWIDTH=100 man --warnings --local-file ./sonde.1 >page 2>warnings || fail "man does not show the page"
[ -s warnings ] && fail "$(cat warnings)"
for variable in NO_COLOR DEBUGINFOD_URLS XDG_CACHE_HOME SONDE_OUT SONDE_SUMMARY; do
	grep -q "^ *$variable" page || fail "the page lacks $variable"
done
# Levels and modes that are too long for a help line are explained here, for both commands that record.
for heading in "Levels of --gpu" "Modes of --heap"; do
	equal "$(grep -c "^ *$heading:" page)" 2
done
run 0 "$SONDE" --help
for command in $(sed -n 's/^  \([a-z]*\) .*/\1/p' .out); do
	grep -q "^ *sonde $command" page || fail "the page lacks sonde $command"
	run 0 "$SONDE" "$command" --help
	for option in $(grep -oE '^  (-., |    )--[a-z-]+' .out | grep -oE -- '--[a-z-]+' | grep -v -x -- --help); do
		grep -q -- "$option" page || fail "the page lacks $option of sonde $command"
	done
done
