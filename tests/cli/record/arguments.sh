# arguments.sh: passwords in command lines are stored in no recording, journal or JSON file; --keep-arguments keeps
# them.
. "$(dirname "$0")/../lib.sh"
need jq
secret=hunter2secret
cat >app <<'END'
#!/bin/sh
sh -c "true --token $TOKEN; i=0; while [ \$i -lt 30000 ]; do i=\$((i + 1)); done" &
wait
END
chmod +x app
export TOKEN=$secret

# without FILE…: the secret is in none of the files, even after unpacking.
without() {
	local file
	for file; do
		[ -s "$file" ] || fail "$file is not there"
		! grep -q "$secret" "$file" || fail "the secret is in $file"
	done
}
# exported FILE: everything that sonde prints about it, as text.
exported() {
	"$SONDE" export -q --force -f chrome -o .chrome "$1"
	"$SONDE" query -q -f csv "$1" "SELECT command FROM processes" >.query
	"$SONDE" query -q -f csv "$1" "SELECT * FROM info" >.info
	"$SONDE" report -q --json --section all "$1" >.report
	cat .chrome .query .info .report
}
run 0 "$SONDE" record -q -o a.sonde -- ./app --password "$secret" "--url=http://joe:$secret@host/" --rows 5 -p 8080
exported a.sonde >a.txt
without a.sonde a.txt
has "$(cat .query)" 'app --password *** --url=http://joe:***@host/ --rows 5 -p 8080'
has "$(cat .info)" 'run.redacted'
# The arguments of its child, too.
has "$(cat .query)" 'true --token ***'
run 0 "$SONDE" advise a.sonde
lacks "$(grep -E '^ +then ' .out || true)" '***'

run 0 "$SONDE" record -q --keep-arguments -o b.sonde -- ./app --password "$secret"
has "$("$SONDE" query -q -f csv b.sonde "SELECT value FROM info WHERE name = 'run.command_line'")" "--password $secret"
run 0 "$SONDE" query -q -f csv b.sonde "SELECT command FROM processes"
has "$out" "true --token $secret"

# A program that records itself.
self=$(target slow_request)
SONDE_OUT=$work/self run 0 "$self" 3 1 "--password=$secret"
without self.*.sonde
run 0 "$SONDE" query -q -f csv self.*.sonde "SELECT command FROM processes"
has "$out" '--password=***'

# A command line that the recorder reads only in part, up to just before the "@" of a URL.
part=http://joe:$secret
pad=$(printf '%*s' $((4095 - 8 - 6 - 1 - ${#part})) '' | tr ' ' x)
run 0 "$SONDE" record -q -o c.sonde -- ./app "$pad" "$part@host/"
run 0 "$SONDE" query -q -f csv c.sonde "SELECT command FROM processes"
has "$out" "./app xxx"
lacks "$out" "hunter2"

# Other files that contain commands.
run 0 "$SONDE" stat --json -o stat.json -- ./app --password "$secret"
run 0 "$SONDE" stat --json -r 2 -o stat2.json -- ./app --password "$secret"
run 0 "$SONDE" bench -r 2 -w 0 --json -o bench.json --vs "true --token $secret" -- true --password "$secret"
without stat.json stat2.json bench.json
equal "$(jq -r .command stat2.json)" "./app --password ***"
equal "$(jq -r .candidate bench.json) $(jq -r .baseline bench.json)" "true --password '***' true --token ***"

# Sentences that name a command; JSON repeats them.
for words in "bench -r 2 -w 0 -- false --password $secret" "bench -r 2 -w 0 --prepare 'false --password $secret' -- true" \
	"stat -r 2 --prepare 'false --password $secret' -- true"; do
	eval "'$SONDE' $words" >.out 2>.err && fail "it did not fail: $words"
	matches "$(cat .err)" "false --password '?\*\*\*"
	lacks "$(cat .out .err)" "$secret"
done

# A journal: the baseline cannot run again if its secrets were removed.
run 0 "$SONDE" try -r 2 -w 0 baseline x -- true --password "$secret"
without .sonde-try/x.jsonl
run 0 "$SONDE" try -r 2 -w 0 run x 'other words' -- true --password "$secret" more
has "$err" "the baseline's command line had passwords or keys, which the journal omits"
without .sonde-try/x.jsonl
run 0 "$SONDE" try -r 2 -w 0 --keep-arguments baseline y -- true --password "$secret"
run 0 "$SONDE" try -r 2 -w 0 run y 'other words' -- true --password "$secret" more
lacks "$err" "cannot be run again"
