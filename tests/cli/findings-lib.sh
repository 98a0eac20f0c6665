# findings-lib.sh: shared by the tests of findings about examples/: compares the findings of a recording with the
# expected ones (examples/examples.tsv).

# wrong RECORDING EXPECTED ALSO LIMITER WHERE: prints what is wrong with the findings of the recording; nothing if all
# are right. $noise becomes the recording's note that the run was noisy, or empty. A verdict on a noisy run is wrong,
# too.
wrong() {
	local file=$1 expected=$2 also=$3 limiter=$4 where=$5 first place limits
	"$SONDE" report -q --json -n 1000000 --section findings "$file" >.findings 2>.err || fail "no findings in $file"
	equal "$(jq '.sections[0].rows | type' .findings)" '"array"'
	jq -r '.sections[0].rows[] | [.rule, .severity, .subject // "", .limiter, .evidence] | @tsv' .findings >"$file.found"
	noise=$(jq -r '[.sections[].notes[]?, .notes[]? | .text | select(test("^Noisy (run|ceilings): "))] | .[0] // ""' .findings)
	IFS=$'\t' read -r first _ place limits _ <"$file.found" || :
	if [ -n "$noise" ]; then
		awk -F '\t' '$1 !~ /^(memory-|fragmentation)/ { print "a verdict on time of a noisy run: " $1 ";" }' "$file.found"
		return
	fi
	[ "$limiter" = - ] || [[ ${limits:-} == *"$limiter"* ]] || echo "limited by ${limits:-nothing}, instead of $limiter;"
	[ "$expected" = - ] || [[ "|$expected|" == *"|${first:-nothing}|"* ]] || echo "${first:-nothing} comes first, instead of $expected;"
	[ "$where" = - ] || grep -qE -- "$where" <<<"${place:-}" || echo "it is about '${place:-}', instead of $where;"
	awk -F '\t' -v expected="|$expected|$also|" '
		$2 == "critical" && !index(expected, "|" $1 "|") { print "critical: " $1 " (" $3 ");" }
		$2 !~ /^(low|medium|high|critical)$/ { print "no severity: " $1 ";" }
		$5 !~ /[0-9]/ { print "no figure in the evidence of " $1 ": " $5 ";" }' "$file.found"
}

# rows_of_examples: NAME OPTIONS EXPECTED ALSO WHERE LIMITER, one line per example.
rows_of_examples() {
	awk -F '\t' '$1 !~ /^#/ { print $1 "\t" $3 "\t" $4 "\t" $5 "\t" $6 "\t" $7 }' "$repo/examples/examples.tsv"
}

# command_of NAME: the command that runs the example; or nothing, with the reason in the file .why.
command_of() {
	if [ -x "$examples/$1" ]; then
		echo "$examples/$1"
	elif [ ! -f "$repo/examples/$1.py" ]; then
		echo "it is not built: its library is not installed" >.why
	elif [ ! -x /usr/bin/python3 ]; then
		echo "/usr/bin/python3 is not installed" >.why
	elif grep -q '^import numpy' "$repo/examples/$1.py" && ! /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
		echo "numpy is not installed" >.why
	else
		echo "/usr/bin/python3 $repo/examples/$1.py"
	fi
}
