# lib.sh: shared by the command-line tests. A test is one file whose first line says what it checks. Keys in its head:
# `# tier: quick` (or long), `# timeout: SECONDS`, `# measures: WHAT`. It sources this file and runs in an empty directory
# of its own, next to other tests, with SONDE as the program under test. Exit code 77 skips it: `skip REASON`.
#
# A test gets one try. `# measures: WHAT` in its head: all of it depends on how busy the machine is. `# measures in part:
# WHAT`: only the assertions after `measured` do.
#
# A missing figure (nothing, null, NaN, n/a) fails every comparison, although awk would read it as 0, and jq sorts null
# below all numbers. So figures are compared by holds, near, is_so and holds_in, which check that first. scripts/check-tests
# finds comparisons that bypass them, and tests/cli/command/lib-strict.sh tests these helpers.
set -euo pipefail
export LC_ALL=C.UTF-8
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
: "${SONDE_BUILD:=$repo/build-test}" "${SONDE:=$SONDE_BUILD/src/cli/sonde}"
export SONDE SONDE_BUILD
work=$(mktemp -d "${TMPDIR:-/tmp}/sonde-test-XXXXXX")
export XDG_CACHE_HOME=$work/.cache HOME=$work
cd "$work"

# For jq, which reads this file: `total` adds up figures: 0 for no rows, an error if one of them is missing.
cat >"$work/.jq" <<-'END'
	def figure: if type == "number" then . else error("an absent figure: \(tojson)") end;
	def total: map(figure) | add // 0;
END

# If jq cannot read or compute something, the test fails, also in the middle of a pipe.
jq() {
	local code=0
	command jq "$@" || code=$?
	[ $code -lt 2 ] || [[ $code = 4 && $1 =~ ^-[a-z]*e ]] || fail "jq ended with $code: $(printf '%s ' "$@" | cut -c 1-300)"
	return $code
}

# A failure inside $(…) only ends the subshell: it is noted here, and the test fails at the next comparison or at its
# end.
failed=$work/.failed
missed=$work/.missed
finish() {
	local code=$?
	[ $code -ne 0 ] || [ ! -e "$failed" ] || { echo "failed: $(<"$failed")" >&2; code=1; }
	if [ -e "$missed" ] && [[ $code = 0 || $code = 77 ]]; then
		echo "all but what it measured is right: $(<"$missed")" >&2
		code=75
	fi
	if declare -F at_exit >/dev/null; then at_exit || true; fi
	rm -rf "$work"
	exit $code
}
trap finish EXIT

skip() { # to standard error, so that it also works inside $(…)
	echo "$*" >&2
	exit 77
}

fail() {
	echo "${BASH_SOURCE[-1]##*/}:${BASH_LINENO[-2]}: $*" | tee -a "$failed" >&2
	for stream in out err; do
		[ -s "$work/.$stream" ] && sed "s/^/$stream: /" "$work/.$stream" | head -n 40 | cut -c 1-200 >&2 || true
	done
	exit 1
}

# measured ASSERTION…: an assertion whose outcome depends on how busy the machine is. If it does not hold, the test goes
# on, so that all other assertions are still checked, and ends with 75. Only then may the test be tried again, or be
# skipped as busy.
measured() {
	local code=0 note=$work/.measured
	[ ! -e "$failed" ] || exit 1
	rm -f "$note"
	(failed=$note; "$@") || code=$?
	[ $code -ne 77 ] || exit 77
	[ $code -ne 0 ] || [ -e "$note" ] || return 0
	[ -e "$note" ] || echo "exit code $code: $*" >"$note"
	cat "$note" >>"$missed"
}

need() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || skip "$tool is not installed"
	done
}

# run CODE COMMAND…: runs it, with its output in $out and $err (and in the files .out and .err). It must exit with
# CODE.
run() {
	local expected=$1 code=0
	shift
	"$@" >"$work/.out" 2>"$work/.err" </dev/null || code=$?
	out=$(tr -d '\0' <"$work/.out")
	err=$(tr -d '\0' <"$work/.err")
	[ "$code" -eq "$expected" ] || fail "exit code $code instead of $expected: $*"
}

# has TEXT WORDS, lacks TEXT WORDS: the text contains the words, or does not.
has() {
	[ -n "$2" ] || fail "no words to look for"
	[[ $1 == *"$2"* ]] || fail "not there: '$2'"
}

lacks() {
	[ -n "$2" ] || fail "no words to look for"
	[[ $1 != *"$2"* ]] || fail "should not be there: '$2'"
}

# matches TEXT PATTERN: some line matches the extended regular expression.
matches() {
	[ -n "$2" ] || fail "no pattern to look for"
	grep -qE -- "$2" <<<"$1" || fail "no line matches '$2'"
}

equal() {
	[ ! -e "$failed" ] || exit 1
	[ "$1" = "$2" ] || fail "'$1' instead of '$2'"
}

# fits COLUMNS [FILE]: the file (.out) is not empty, and no line is longer.
fits() {
	local file=${2:-$work/.out} widest
	widest=$(wc -L <"$file")
	[ "$widest" -gt 0 ] || fail "$file is empty"
	[ "$widest" -le "$1" ] || fail "a line of $file has $widest columns: $(awk -v most="$1" 'length > most { print; exit }' "$file")"
}

# Replaces what differs from run to run: times, pids, addresses, shares, the scratch directory.
normalise() {
	sed -E -e "s,$work,DIR,g" -e 's/0x[0-9a-f]+/ADDR/g' -e 's/[0-9]+(\.[0-9]+)? ?(ns|µs|us|ms|s|B|KB|MB|GB|%|Hz)\b/N \2/g' \
		-e 's/\b(pid|tid) [0-9]+/\1 PID/g'
}

# As another user if we are root (uid 65534 with a home directory of its own), else as ourselves.
as_user() {
	if [ "$(id -u)" -eq 0 ]; then
		chmod 777 "$work"
		setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$work" "$@"
	else
		"$@"
	fi
}

# A program with a known answer (tests/targets); the test is skipped if it is not built.
target() {
	[ -x "$SONDE_BUILD/tests/targets/$1" ] || skip "tests/targets/$1 is not built"
	echo "$SONDE_BUILD/tests/targets/$1"
}

# Skips the test unless perf events are allowed; "kernel": unless they may sample the kernel too.
need_perf() {
	local check="perf events"
	[ "${1:-}" = kernel ] && check="kernel frames"
	"$SONDE" doctor -f json 2>/dev/null | jq -e --arg c "$check" \
		'[.sections[].rows[] | select(.check == $c and .verdict == "green")] | length == 1' >/dev/null ||
		skip "$check are not to be had here"
}

# rows FILE SECTION: the rows of a recording's table, as JSON. A section without a table fails; one without rows gives
# [].
rows() {
	"$SONDE" report -q --json -n 1000000 --section "$2" "$1" >"$work/.rows" 2>"$work/.err" || fail "no $2 in $1"
	jq -e '.sections[0].rows | arrays' "$work/.rows" || fail "no table in $2 of $1"
}

# figure_of VALUE WHAT: the value, which must be a single number.
figure_of() {
	[[ $1 =~ ^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$ ]] || fail "no figure: $2 is '$1'"
	echo "$1"
}

# metric FILE NAME: a figure of the summary; a line for each is kept until the file is another one. lacks_metric FILE NAME: the figure is listed as not measured, with a
# reason.
metric() {
	local kept=$work/.metrics stamp
	stamp=$(stat -Lc '%n %d %i %s %y %z' "$1" 2>/dev/null) || stamp=
	if [ -z "$stamp" ] || [ "$stamp" != "$(head -n 1 "$kept" 2>/dev/null)" ]; then
		{ echo "$stamp" && rows "$1" summary | jq -r '.[] | "\(.metric)\t\(.value)"'; } >"$kept.$BASHPID"
		mv "$kept.$BASHPID" "$kept"
	fi
	figure_of "$(awk -F '\t' -v m="$2" 'NR > 1 && $1 == m { print $2 }' "$kept")" "$2 of $1"
}
lacks_metric() {
	local found
	found=$(rows "$1" summary | jq -c --arg m "$2" '[.[] | select(.metric == $m) | [.value, (.absent.value | length > 0)]]')
	equal "$2: $found" "$2: [[null,true]]"
}

# share FILE COLUMN FUNCTION [NONE]: in percent of all sampled time. If no row has that name: NONE, or a failure.
share() {
	figure_of "$(rows "$1" functions | jq -r --arg c "$2" --arg f "$3" --arg none "${4-}" \
		'if length == 0 then "no rows" else [.[] | select(.function == $f)[$c] | figure] |
		if length > 0 then add * 100 else $none end end')" "$2 of $3 in $1"
}

# ahead COMMAND…: as root, with priority over everything else that wants a CPU; only the command itself, not what it
# starts.
ahead() {
	if [ "$(id -u)" -eq 0 ] && chrt --reset-on-fork --rr 10 true 2>/dev/null; then
		chrt --reset-on-fork --rr 10 "$@"
	else
		"$@"
	fi
}

# quietly FILE COMMAND…: makes a recording, and repeats it up to five times while a hypervisor took more than 2 % of
# the machine's CPU time: it is unknown which threads lost that time, and what samples missed of it.
quietly() {
	local file=$1 try
	shift
	for ((try = 0; try < 5; try++)); do
		rm -f "$file"
		run 0 "$@"
		is_so "$(metric "$file" timing.stolen_time_s) <= 0.02 * $(metric "$file" timing.cpu_time_s)" && return
	done
	return 0
}

# compares EXPRESSION: fails unless each operand is a number: nothing else stands between operators.
compares() {
	local rest=$1 is_operand=1
	local number='^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?' opening='^(-?(sqrt|log|exp|int)?\(|!)'
	local operator='^(&&|\|\||[<>=!]=|[-+*/^%<>?:,])'
	[ ! -e "$failed" ] || exit 1
	while :; do
		rest=${rest#"${rest%%[![:space:]]*}"}
		[ -n "$rest" ] || break
		if [ $is_operand = 1 ] && [[ $rest =~ $number ]]; then
			is_operand=0
		elif [ $is_operand = 0 ] && [[ $rest =~ $operator ]]; then
			is_operand=1
		elif [ $is_operand = 1 ] && [[ $rest =~ $opening ]]; then
			:
		elif [ $is_operand = 0 ] && [[ $rest =~ ^\) ]]; then
			:
		else
			fail "no figure at '$rest' in: $1 ${2:-}"
		fi
		rest=${rest:${#BASH_REMATCH[0]}}
	done
	[ $is_operand = 0 ] || fail "no figure at the end of: $1 ${2:-}"
}

# calc EXPRESSION: its value; nan and inf count as missing.
calc() {
	compares "$1"
	figure_of "$(awk "BEGIN { printf \"%.17g\", $1 }")" "$1"
}

# is_so EXPRESSION: true if it holds; figures with awk's operators. holds EXPRESSION [WHAT]: it must hold.
is_so() {
	compares "$1"
	[ "$(awk "BEGIN { print ($1) ? \"so\" : \"not\" }")" = so ]
}
holds() {
	compares "$1" "${2:-}"
	is_so "$1" || fail "does not hold: $1 ${2:-}"
}

# near VALUE EXPECTED TOLERANCE
near() {
	holds "($1) >= ($2) - ($3) && ($1) <= ($2) + ($3)" "($1 is not $2 ± $3)"
}

# near_time MEASURED KNOWN SHARE WHAT: within a share of the program's own figure, plus 0.2 ms; in ns.
near_time() {
	holds "($1) >= ($2) - ($3) * ($2) - 200000 && ($1) <= ($2) + ($3) * ($2) + 200000" \
		"($4: $1, the program measured $2)"
}

# holds_in FILE EXPRESSION [JQ OPTION…]: the jq expression is true for a JSON file, in each of its outputs, and
# becomes false if a key that it names is null or missing: otherwise it would hold for a missing figure, too (`|
# figure` rejects one). `.key == null` and ["key"] do not count as naming a key.
holds_in() {
	local file=$1 expression=$2 keys said
	shift 2
	[ ! -e "$failed" ] || exit 1
	keys=$(sed -E 's/\.[a-zA-Z_0-9.]+ == null//g; s/"([^"\\]|\\.)*"//g' <<<"$expression" | { grep -oE '\.[a-zA-Z_][a-zA-Z_0-9]*' || true; } |
		sort -u | awk '{ keys = keys (NR > 1 ? "," : "") "\"" substr($0, 2) "\"" } END { print "[" keys "]" }')
	said=$(command jq -r "$@" --argjson keys_named "$keys" "def held: [$expression] | length > 0 and all(. == true);
		def held_without(\$key): walk(if type == \"object\" and has(\$key) then .[\$key] = null else . end) | try held catch false;
		. as \$all | if held | not then \"not so\"
		else [\$keys_named[] | select(. as \$key | \$all | held_without(\$key) or ([.. | objects | has(\$key)] | any | not))] |
		if . == [] then \"so\" else \"so also without \" + join(\", \") end end" "$file" 2>&1) || true
	[ "$said" = so ] || fail "$said: $expression, of $(head -c 900 "$file")"
}

# wait_for COMMAND…: repeats it until it succeeds, for at most 20 seconds.
wait_for() {
	local left=400
	until "$@" 2>/dev/null; do
		left=$((left - 1))
		[ $left -gt 0 ] || fail "never came: $*"
		sleep 0.05
	done
}
