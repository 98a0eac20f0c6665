# alternate-stack.sh: a signal handler on an alternate stack that is just large enough without sonde works with it too;
# its calls are then not recorded, but counted as lost.
# timeout: 60
. "$(dirname "$0")/../lib.sh"
need jq
program=$(target alternate_stack)

for when in first later connected; do
	run 0 "$program" $when
	bare=$out
	for how in --io "--io --threads" "--no-perf --heap=full --threads --io"; do
		# shellcheck disable=SC2086
		run 0 "$SONDE" record -q --force -o a.sonde $how -- "$program" $when
		holds "$out <= $bare + 256" "($when, $how)"
	done
done

# calls and losses WHEN BYTES: of descriptors of /dev/zero, and lost ones
seen() {
	run 0 "$SONDE" record -q --io --force -o a.sonde -- "$program" "$1" "$2"
	rows a.sonde io | jq -r '[.[] | select(.file == "/dev/zero").writes] | total'
	run 0 "$SONDE" report a.sonde
	sed -nE 's/^! waits: ([0-9,]+) lost.*/\1/p' .out | tr -d ,
}
equal "$(seen later 16384 | tr '\n' ' ')" "2 "
equal "$(seen connected 16384 | tr '\n' ' ')" "501 "
small=$(($("$program" later) + 512))
equal "$(seen later $small | tr '\n' ' ')" "1 4 "
equal "$(seen connected $small | tr '\n' ' ')" "500 4 "
