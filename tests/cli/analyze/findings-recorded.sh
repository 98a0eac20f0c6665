# findings-recorded.sh: for each committed recording of examples/ (tests/findings/record.sh), the first finding is the
# known defect, with figures as evidence and a severity; every critical finding is known to apply.
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/findings-lib.sh"
need jq

judged=0
: >bad
: >seen
cp "$repo"/tests/findings/*.sonde .
while IFS=$'\t' read -r name _ expected also where limiter; do
	[ -e "$name.sonde" ] || continue
	[ "$expected" = false-sharing ] && expected="false-sharing|hot-function" # its code is not here to be decoded
	noise=
	said=$(wrong "$name.sonde" "$expected" "$also" "$limiter" "$where"; [ -z "$noise" ] || echo "$noise;")
	[ -z "$said" ] || printf '%s: %s\n' "$name" "${said//$'\n'/ }" | tee -a bad
	cut -f 2 "$name.sonde.found" >>seen
	judged=$((judged + 1))
	printf '  %-16s %-27s %s\n' "$name" "$expected" "$(head -n 1 "$name.sonde.found" | cut -f 1-4)"
	rm "$name.sonde"
done < <(rows_of_examples)
equal "$(ls ./*.sonde 2>/dev/null)" ""
echo "$judged judged, $(wc -l <bad) wrong"
[ ! -s bad ] || fail "recordings are told something else: $(cat bad)"
equal "$judged" "$(ls "$repo"/tests/findings/*.sonde | wc -l)"
holds "$judged >= 30"
# Severities from medium to critical are among them.
for severity in medium high critical; do
	holds "$(grep -cx "$severity" seen) > 0" "$severity"
done
