# diff: comparison of two recordings of a million CPU samples each
source "$(dirname "$0")/lib.bash"
source "$repo/bench/anchors.bash"

rounds=$(n 5 2)
samples=$(n 1000000 100000)
size=$(calc "1000000 / $samples")
no_perf=$(perf_missing)

# As in bench/million.sh, sonde itself is recorded while it reports, and the recording is multiplied; one side has an
# additional section, so that there is a difference.
"$SONDE" record -q -f -F 1 --no-symbols --on-full block -o zones.sonde -- "$programs/streams" machine "$(n 3000000 300000)" >&2
record() { # FILE COMMANDS
	"$SONDE" record -q -f -F 10000 -o real.sonde -- sh -c "for i in 1 2 3; do $2; done >/dev/null" >&2
	"$programs/multiply" real.sonde "$1" "$samples" >&2
}
say "recording"
record before.sonde "'$SONDE' report --section zones -f json zones.sonde"
record after.sonde "'$SONDE' report --section zones -f json zones.sonde; '$SONDE' export -f chrome -o - zones.sonde"

for ((i = 0; i < rounds; i++)); do
	rm -rf "$XDG_CACHE_HOME"
	cost cold "$SONDE" diff before.sonde after.sonde
	cost warm "$SONDE" diff before.sonde after.sonde
done
cost_of cold wall | awk -v s="$size" '{ print $1 * s }' | keep cold
cost_of warm wall | awk -v s="$size" '{ print $1 * s }' | keep warm
why="$(metric before.sonde samples.count) and $(metric after.sonde samples.count) samples, no symbols in the files"
judge "diff of two recordings of 1 M samples, warm" warm s "${no_perf:-–}" "≤ 2 s" "<=" 2 "$why; symbol cache filled"
info "the same, cold" cold s "–" "$why"
