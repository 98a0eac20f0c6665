# ui-flame.sh: flame graphs in a browser: by each metric of the recording, searched, zoomed, between callers and
# callees, and in order of time, with the figures of `sonde report`; frames too narrow to draw can still be reached.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/ui-lib.sh"
known=$(target zones_known)
need_perf
run 0 "$SONDE" record -q --threads -o known.sonde -- "$known" 60
run 0 "$SONDE" report -q -f html -o known.html known.sonde
begin one known.sonde
ui_node flame.mjs "$SONDE" "$browser" "$work/known.sonde" "$(head -n 1 one.url)" "$work/known.html" "$work"
