#!/bin/bash
# sanitized.sh: a build with sanitizers reads every stored recording, one cut off, and one of a program that is too small to
# have a peak RSS of its own, and writes each of them in every form: no sanitizer reports anything.
# Usage: tests/sanitized.sh ASAN_SONDE, with SONDE naming the ordinary build.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
sanitized=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS="detect_leaks=1:abort_on_error=0:exitcode=99:detect_stack_use_after_return=1" UBSAN_OPTIONS="halt_on_error=1:exitcode=99"

# use FILE ARGUMENTS…: runs the sanitized build; an error of the recording is fine, a sanitizer's is not.
use() {
	local code
	"$sanitized" "$@" >/dev/null 2>"$work/err.$BASHPID"
	code=$?
	if [ $code -ge 99 ]; then
		echo "sonde $*: exit code $code"
		head -n 40 "$work/err.$BASHPID"
		return 1
	fi
}

all_forms() {
	local file=$1 other=$2 form
	for form in text json html md openmetrics advice csv svg chrome perfetto firefox folded speedscope pprof callgrind jsonl; do
		case $form in
		text | json | md | html) use export -q -o - -f $form --section all "$file" ;;
		*) use export -q -o - -f $form "$file" ;;
		esac || return
	done
	use report --from 1ms --to 50ms --json "$file" && use diff --json "$other" "$file" &&
		use merge -q --force -o "$work/merged.$BASHPID" "$file" "$other"
}

"$SONDE" record -q -o "$work/tiny.sonde" -- sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done' || exit 1
head -c 3000 tests/findings/lock_convoy.sonde >"$work/cut.sonde"
files=("$work"/*.sonde tests/findings/*.sonde tests/golden/*.sonde)
[ ${#files[@]} -ge 40 ] || { echo "only ${#files[@]} recordings were found"; exit 1; }
for ((i = 0; i < ${#files[@]}; i++)); do
	while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
		wait -n || exit 1
	done
	all_forms "${files[i]}" "${files[(i + 1) % ${#files[@]}]}" &
done
while [ -n "$(jobs -rp)" ]; do
	wait -n || exit 1
done
for plot in cpu memory io zones iterations parallelism energy; do
	use export -q -o - -f svg --plot $plot tests/golden/series.sonde || exit 1
done
tables=$("$SONDE" query --tables | sed -nE 's/^([a-z_]+), .*/\1/p')
[ "$(wc -w <<<"$tables")" -ge 20 ] || { echo "no tables: '$tables'"; exit 1; }
for table in $tables; do
	use query tests/findings/lock_convoy.sonde "SELECT * FROM $table" || exit 1
done
echo "${#files[@]} recordings in every form"
