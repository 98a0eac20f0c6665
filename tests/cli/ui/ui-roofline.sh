# ui-roofline.sh: the roofline in a browser, served and in one file: points and ceilings are drawn at the figures of
# `sonde roofline --json`; a zone without intensity has no point; a machine that was never measured has no roofline.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/ui-lib.sh"
work_target=$(target roofline_work)

run 0 "$SONDE" record -q -o before.sonde -- "$work_target" 8
XDG_CACHE_HOME=$work/nothing begin before before.sonde
run 0 "$SONDE" roofline --measure -q --json
run 0 "$SONDE" record -q -o work.sonde -- "$work_target" 24
run 0 "$SONDE" roofline --json -o figures.json work.sonde
run 0 "$SONDE" report -q -f html -o work.html work.sonde
begin work work.sonde
ui_node roofline.mjs "$browser" "$work/figures.json" "$(head -n 1 work.url)" "file://$work/work.html" "$(head -n 1 before.url)"
