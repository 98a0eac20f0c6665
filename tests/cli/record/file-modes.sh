# file-modes.sh: new files can be read only by their user (mode 0600), whichever command writes them; existing files
# keep their mode.
# tier: quick
. "$(dirname "$0")/../lib.sh"
umask 022

# private FILE COMMAND…
private() {
	local file=$1
	shift
	run 0 "$@"
	equal "$file $(stat -c %a "$file")" "$file 600"
}
private a.sonde "$SONDE" record -q -o a.sonde -- sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done'
private b.sonde "$SONDE" record -q -o b.sonde -- true
private merged.sonde "$SONDE" merge -q -o merged.sonde a.sonde b.sonde
for format in json csv md svg text; do
	private "report.$format" "$SONDE" report -q -f "$format" -o "report.$format" a.sonde
done
if "$SONDE" report -q -f html a.sonde >/dev/null 2>.err; then
	private report.html "$SONDE" report -q -f html -o report.html a.sonde
else
	has "$(cat .err)" "this build has no web page"
fi
for format in chrome folded pprof speedscope perfetto firefox callgrind; do
	private "export.$format" "$SONDE" export -q -f "$format" -o "export.$format" a.sonde
done
private query.csv "$SONDE" query -q -f csv -o query.csv a.sonde 'SELECT * FROM run'
private diff.json "$SONDE" diff -f json -o diff.json a.sonde a.sonde
private bench.json "$SONDE" bench -r 5 --json -o bench.json -- true
echo 'a;b 1' >folded.txt
private folded.sonde "$SONDE" import -q -o folded.sonde folded.txt

# A mode that the user set is kept.
chmod 644 report.json
run 0 "$SONDE" report -q --force -f json -o report.json a.sonde
equal "$(stat -c %a report.json)" 644
