# ui-compare.sh: two recordings in a browser: the pages Compare and Flame difference show the figures of `sonde diff`,
# and run B is as accessible as run A. Also: instructions and source lines of a function; histograms of a zone, with
# exactly its instances. Source that is not the compiled version is not shown, and the page says if recordings cannot be
# compared.
# measures in part: shares of CPU time
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/ui-lib.sh"
need curl cc
shares=$(target shares) known=$(target zones_known)
need_perf

# Alpha takes no time in the second run: it is only in A.
run 0 "$SONDE" record -q -o a.sonde -- "$shares" 5 10 100
run 0 "$SONDE" record -q -o b.sonde -- "$shares" 0 20 100
run 0 "$SONDE" record -q -o zones.sonde -- "$known" 60
begin two a.sonde b.sonde
begin one zones.sonde
two=$(head -n 1 two.url) one=$(head -n 1 one.url)

# Over HTTP: the bytes of sonde diff and, for either run, of sonde report; invalid requests are refused with a message.
answers() { # URL COMMAND…
	curl -sf "$1" >answer || fail "no answer: $1"
	run 0 "${@:2}"
	cmp -s answer .out || fail "$1 is not ${*:2}"
}
answers "${two}api/diff" "$SONDE" diff -f json a.sonde b.sonde
answers "${two}api/diff?section=diff-calltree&limit=5" "$SONDE" diff -f json -s diff-calltree -n 5 a.sonde b.sonde
answers "${two}api/diff?section=diff-functions,diff" "$SONDE" diff -f json -s diff-functions,diff a.sonde b.sonde
answers "${two}api/report?section=functions&run=b" "$SONDE" report -q --json --section functions b.sonde
answers "${two}api/report?run=a&section=assembly&focus=beta" "$SONDE" report -q --json --section assembly --focus beta a.sonde
equal "$(curl -s "${two}api/runs" | jq -r '[.runs[] | .run + "=" + .file] | join(" ")')" "a=a.sonde b=b.sonde"
refused() { # URL WORDS
	equal "$(curl -s -o answer -w '%{http_code}' "$1")" 400
	has "$(jq -r .error answer)" "$2"
}
refused "${two}api/diff?section=functions" "unknown section"
refused "${two}api/diff?limit=0" "limit is a number"
refused "${two}api/diff?run=b" "unknown parameter 'run'"
refused "${two}api/report?section=functions&run=c" "run is a or b"
refused "${one}api/report?section=functions&run=b" "sonde view A B"
refused "${one}api/diff" "sonde view A B"

# The times in the merged call tree agree with those of the functions, and add up to the totals.
run 0 "$SONDE" diff -f json -s diff-calltree,diff-functions -n 100000 a.sonde b.sonde
holds_in .out '(.sections[] | select(.id == "diff-functions") | .rows | map({key: .function, value: .}) | from_entries) as $f
	| .sections[] | select(.id == "diff-calltree") | .rows
	| ([.[] | select(.function == "beta")] | length == 1 and .[0].baseline_self_ns == $f["beta"].baseline_ns and .[0].candidate_self_ns == $f["beta"].candidate_ns)
	and ([.[] | select(.function == "alpha")][0] | .candidate_ns == 0 and .baseline_ns > 0)
	and (map(.baseline_self_ns) | add) == .[0].baseline_ns and (map(.candidate_self_ns) | add) == .[0].candidate_ns'
measured holds_in .out '.sections[] | select(.id == "diff-calltree") | .rows[] | select(.function == "alpha")
	| (.change_s | figure) < -(.plus_minus.change_s | figure)'

# Instructions: in beta, only the loop took time.
run 0 "$SONDE" report -q --json --section assembly,functions --focus beta -n 10000 a.sonde
holds_in .out '(.sections[] | select(.id == "functions") | .rows[] | select(.function == "beta") | .self_ns) as $all
	| .sections[] | select(.id == "assembly") | .rows as $rows
	| ([$rows[] | select(.instruction | strings | test("^(jl|jne|jb|b\\.)"))] | last) as $jump
	| ([$rows[] | .self_ns | numbers] | add) == $all and ($all | figure) > 0 and ($rows | length) > 5 and ($jump.address | figure) > 0'
measured holds_in .out '(.sections[] | select(.id == "functions") | .rows[] | select(.function == "beta") | .self_ns) as $all
	| .sections[] | select(.id == "assembly") | .rows as $rows
	| ([$rows[] | select(.instruction | strings | test("^(jl|jne|jb|b\\.)"))] | last) as $jump
	| ([$rows[] | select(.self_ns | numbers) | select((.address | values) <= $jump.address) | .self_ns] | add) > 0.9 * $all'

# Source is shown as long as it is the version that was compiled.
cat >hot.c <<'END'
volatile unsigned long sink;
__attribute__((noinline)) void hot(void)
{
	for (unsigned long i = 0; i < 300000000; i++) sink += i; /* the hot line */
}
int main(void)
{
	hot();
}
END
for name in hot old; do
	[ $name = hot ] || cp hot.c old.c
	cc -g -O1 -o $name $name.c
	run 0 "$SONDE" record -q -o $name.sonde -- ./$name
	begin $name $name.sonde
done
source_of() {
	"$SONDE" report -q --json --section lines --focus hot $1.sonde | jq -r '.sections[0].rows[] | select(.samples > 0) | .source // .absent.source'
}
has "$(source_of hot)" "the hot line"
has "$(source_of old)" "the hot line"
mv old.c kept.c
has "$(source_of old)" "not found"
ln -s kept.c old.c
has "$(source_of old)" "symbolic link"
lacks "$(source_of old)" "the hot line"
mv kept.c old.c
touch old.c
has "$(source_of old)" "has changed"
lacks "$(source_of old)" "the hot line"

# Files that cannot be opened, and recordings of another program.
echo no >foreign.sonde
cp b.sonde newer.sonde
printf '\377' | dd of=newer.sonde bs=1 seek=8 conv=notrunc status=none
for file in foreign newer missing; do
	run 4 timeout 20 "$SONDE" view -n --port 0 a.sonde $file.sonde
	has "$err" $file.sonde
done
head -c $(($(stat -c %s b.sonde) * 2 / 3)) b.sonde >cut.sonde
begin cut a.sonde cut.sonde
has "$(curl -s "$(head -n 1 cut.url)api/diff")" "the recording of the candidate is incomplete"
begin other a.sonde zones.sonde
curl -s "$(head -n 1 other.url)api/diff" >other.json
holds_in other.json '.comparable == 0 and ([.sections[].notes[].text] | any(test("different programs")))'

ui_node compare.mjs "$SONDE" "$browser" "$work/a.sonde" "$work/b.sonde" "$two" "$(head -n 1 other.url)"
ui_node functions.mjs "$SONDE" "$browser" "$work/a.sonde" "$two" "$(head -n 1 hot.url)" "$(head -n 1 old.url)"
ui_node zones.mjs "$SONDE" "$browser" "$work/zones.sonde" "$one"
