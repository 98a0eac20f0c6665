#!/usr/bin/env bash
# sample.sh FORMAT FILE FOLDER: runs the export tests in FOLDER, and validates FILE, one of the files that they write.
set -u
format=$1 file=$2 tests=$3
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for program in test_export test_exchange test_exchange_heap test_exchange_waits; do
	"$tests/$program" "$out" || exit 1
done
case $file in
sample*) "$(dirname "$0")/run.sh" "$format" "$out/$file" "$out/calltree.json" ;;
heap.trace.json | waits.trace.json | heap.pftrace | waits.pftrace | heap.firefox.json | waits.firefox.json) "$(dirname "$0")/run.sh" "$format" "$out/$file" ;;
heap*) "$(dirname "$0")/run.sh" "$format" "$out/$file" "$out/heap.json" ;;
waits*) "$(dirname "$0")/run.sh" "$format" "$out/$file" "$out/waits.json" ;;
*) "$(dirname "$0")/run.sh" "$format" "$out/$file" ;;
esac
