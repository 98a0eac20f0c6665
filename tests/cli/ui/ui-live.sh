# ui-live.sh: a browser watches a program while it is recorded: the page follows it, pauses, catches up, moves on with its last
# seconds, and says how it ended; what it shows then is `sonde report` of the file that is kept.
# timeout: 180
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/ui-lib.sh"
told=$(target told)
need_perf
ui_node live.mjs "$SONDE" "$browser" "$told" "$work"
