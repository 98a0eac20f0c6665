# lib.sh: what the command-line tests share. A test is one file: it begins with a line that says what it proves, may say
# `# tier: quick` (or long) and `# timeout: SECONDS`, sources this file, and runs in an empty directory of its own with
# SONDE, the program under test, beside others. Exit 77 skips it: `skip REASON`.
set -euo pipefail
export LC_ALL=C.UTF-8
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
: "${SONDE_BUILD:=$repo/build-test}" "${SONDE:=$SONDE_BUILD/src/cli/sonde}"
export SONDE SONDE_BUILD
work=$(mktemp -d "${TMPDIR:-/tmp}/sonde-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/.cache HOME=$work
cd "$work"

skip() { # on the error output: also from inside $(…)
	echo "$*" >&2
	exit 77
}

fail() {
	echo "${BASH_SOURCE[-1]##*/}:${BASH_LINENO[-2]}: $*" >&2
	for stream in out err; do
		[ -s "$work/.$stream" ] && sed "s/^/$stream: /" "$work/.$stream" | head -n 40 | cut -c 1-200 >&2 || true
	done
	exit 1
}

need() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || skip "$tool is not installed"
	done
}

# run CODE COMMAND…: runs it with its output in $out and $err (and the files .out and .err); it must exit with CODE.
run() {
	local expected=$1 code=0
	shift
	"$@" >"$work/.out" 2>"$work/.err" </dev/null || code=$?
	out=$(tr -d '\0' <"$work/.out")
	err=$(tr -d '\0' <"$work/.err")
	[ "$code" -eq "$expected" ] || fail "exit code $code instead of $expected: $*"
}

# has TEXT WORDS, lacks TEXT WORDS: the text holds the words, or not.
has() {
	[[ $1 == *"$2"* ]] || fail "not there: '$2'"
}

lacks() {
	[[ $1 != *"$2"* ]] || fail "should not be there: '$2'"
}

# matches TEXT PATTERN: some line matches the extended regular expression.
matches() {
	grep -qE -- "$2" <<<"$1" || fail "no line matches '$2'"
}

equal() {
	[ "$1" = "$2" ] || fail "'$1' instead of '$2'"
}

# Takes out what differs from run to run: times, pids, addresses, shares, the scratch directory.
normalise() {
	sed -E -e "s,$work,DIR,g" -e 's/0x[0-9a-f]+/ADDR/g' -e 's/[0-9]+(\.[0-9]+)? ?(ns|µs|us|ms|s|B|KB|MB|GB|%|Hz)\b/N \2/g' \
		-e 's/\b(pid|tid) [0-9]+/\1 PID/g'
}

# As another user where we are root (uid 65534 with a home of its own), else as ourselves.
as_user() {
	if [ "$(id -u)" -eq 0 ]; then
		chmod 777 "$work"
		setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$work" "$@"
	else
		"$@"
	fi
}

# A program with a known answer (tests/targets), skipped where it is not built.
target() {
	[ -x "$SONDE_BUILD/tests/targets/$1" ] || skip "tests/targets/$1 is not built"
	echo "$SONDE_BUILD/tests/targets/$1"
}

# Goes on only where perf events are allowed; "kernel": where they show the kernel too.
need_perf() {
	local check="perf events"
	[ "${1:-}" = kernel ] && check="kernel frames"
	"$SONDE" doctor -f json 2>/dev/null | jq -e --arg c "$check" \
		'[.sections[].rows[] | select(.check == $c and .verdict == "green")] | length == 1' >/dev/null ||
		skip "$check are not to be had here"
}

# rows FILE SECTION: the rows of a table of a recording, as JSON.
rows() {
	"$SONDE" report -q --json -n 1000000 --section "$2" "$1" >"$work/.rows" 2>"$work/.err" || fail "no $2 in $1"
	jq '.sections[0].rows' "$work/.rows"
}

# metric FILE NAME: a value of the summary.
metric() {
	rows "$1" summary | jq -r --arg m "$2" '.[] | select(.metric == $m).value'
}

# share FILE COLUMN FUNCTION: of all sampled time, in percent; 0 where it is not there.
share() {
	rows "$1" functions | jq -r --arg c "$2" --arg f "$3" '[.[] | select(.function == $f)[$c]] | add // 0 | . * 100'
}

# quietly FILE COMMAND…: makes a recording, and again while a hypervisor took more than 2 % of its CPU time from the
# machine, five times at most: which threads that fell on, and what samples missed of it, is not known.
quietly() {
	local file=$1 try
	shift
	for ((try = 0; try < 5; try++)); do
		rm -f "$file"
		run 0 "$@"
		awk -v stolen="$(metric "$file" timing.stolen_time_s)" -v cpu="$(metric "$file" timing.cpu_time_s)" \
			'BEGIN { exit !(stolen <= 0.02 * cpu) }' && return
	done
	return 0
}

# holds EXPRESSION: of awk, with what it says of itself when it does not hold.
holds() {
	awk "BEGIN { exit !($1) }" || fail "does not hold: $1 ${2:-}"
}

# near VALUE EXPECTED TOLERANCE
near() {
	holds "$1 >= $2 - $3 && $1 <= $2 + $3" "($1 is not $2 ± $3)"
}

# wait_for COMMAND…: until it succeeds, at most 20 seconds.
wait_for() {
	local left=400
	until "$@" 2>/dev/null; do
		left=$((left - 1))
		[ $left -gt 0 ] || fail "never came: $*"
		sleep 0.05
	done
}
