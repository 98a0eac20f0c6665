# export.sh: options of sonde export: the format from -f or the extension, a file named after the recording, standard
# output.
. "$(dirname "$0")/../lib.sh"
need jq

mkdir elsewhere
run 0 "$SONDE" record -q -o elsewhere/app.sonde -- sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'
run 2 "$SONDE" export elsewhere/app.sonde
has "$err" "which format?"
run 2 "$SONDE" export -o app.nothing elsewhere/app.sonde
has "$err" "unknown extension 'app.nothing'"

# Options that select a part of the recording work in every format; options without effect are rejected.
tid=$(rows elsewhere/app.sonde threads | jq '.[0].tid')
run 0 "$SONDE" export -q -o whole.folded elsewhere/app.sonde
run 0 "$SONDE" export -q -o same.folded --thread "$tid" elsewhere/app.sonde
cmp whole.folded same.folded || fail "the only thread is not the whole recording"
run 0 "$SONDE" export -q -o none.folded --to 1ns elsewhere/app.sonde
equal "$(cat none.folded)" ""
run 2 "$SONDE" export -o never.folded --limit 3 elsewhere/app.sonde
has "$err" "--limit works only with reports, not with folded"
[ ! -e never.folded ] || fail "a file in spite of an error"

# Every format in the help can be written, to a file with its own extension.
formats=$("$SONDE" export --help | tr -s ' \n' ' ' | sed -n "s/.*output format: \([a-z, ]*\) -o.*/\1/p" | tr -d ,)
[ "$(wc -w <<<"$formats")" -ge 4 ] || fail "the help lists no formats: '$formats'"
[ -s "$SONDE_BUILD/web/page/app.js" ] || formats=${formats/ html / } # a build without the web page
for format in $formats; do
	rm -f app.*
	run 0 "$SONDE" export -f "$format" elsewhere/app.sonde
	written=$(ls app.*)
	equal "$err" "sonde export: wrote $written"
	run 2 "$SONDE" export -f "$format" elsewhere/app.sonde
	has "$err" "$written exists"
	cp "$written" first
	run 0 "$SONDE" export -q --force -f "$format" elsewhere/app.sonde
	equal "$err" ""
	cmp "$written" first || fail "$format differs from one time to the next"
	run 0 "$SONDE" export -o - -f "$format" elsewhere/app.sonde
	cmp .out first || fail "$format differs on the standard output"
done

# A name that ends in .gz is compressed, with the same bytes each time; the rest of the name gives the format.
rm -f app.*
run 0 "$SONDE" export -q -f chrome elsewhere/app.sonde
run 0 "$SONDE" export -q -o app.trace.json.gz elsewhere/app.sonde
gzip -dc app.trace.json.gz | cmp - app.trace.json || fail "compressed it is another trace"
run 0 "$SONDE" report -q --json -o report.gz elsewhere/app.sonde
equal "$(gzip -dc report.gz | jq '.sections | length > 0')" true
run 0 "$SONDE" export -q -o app.pb.gz elsewhere/app.sonde
gzip -dc app.pb.gz >app.pb
gzip -dc app.pb 2>/dev/null && fail "a profile is compressed twice"
true

# An export of an incomplete recording says so, on the terminal and in the file.
size=$(stat -c %s elsewhere/app.sonde)
head -c $((size * 2 / 3)) elsewhere/app.sonde >cut.sonde
run 0 "$SONDE" export -f perfetto cut.sonde
matches "$err" "^sonde export: the recording is incomplete: it was not closed properly"
run 0 "$SONDE" export --force -q -f perfetto cut.sonde
equal "$err" ""
for key in records_lost bytes_not_readable not_closed_in_order; do
	grep -qa $key cut.pftrace || fail "no $key"
done
run 0 "$SONDE" export -f firefox cut.sonde
matches "$err" "^sonde export: the recording is incomplete"
holds_in cut.firefox.json '[.meta.extra[].entries[] | select(.label | startswith("Incomplete (")).value] == [1]'
run 0 "$SONDE" export --force -f firefox elsewhere/app.sonde
lacks "$err" "incomplete"

# A file size limit is a write error and leaves no partial file.
for command in "export -f perfetto -o small.pftrace" "report -f text -o small.txt"; do
	code=0
	(ulimit -f 1; exec "$SONDE" ${command} elsewhere/app.sonde) >.out 2>.err || code=$?
	equal "$code" 4
	has "$(<.err)" "the output is incomplete"
	[ ! -e "${command##* }" ] || fail "half of a file is left"
done
