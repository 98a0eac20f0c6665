# ui-live.sh: a browser watches a program while it is recorded: the page follows, pauses, catches up, scrolls with the
# last seconds, and shows how the run ended; finally it equals `sonde report` of the file.
# timeout: 180
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/ui-lib.sh"
told=$(target told)
need_perf
ui_node live.mjs "$SONDE" "$browser" "$told" "$work"
