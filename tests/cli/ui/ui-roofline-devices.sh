# ui-roofline-devices.sh: theoretical ceilings of GPUs in a browser, served and in one file: lines are drawn at the
# section's figures, none looks measured, and no kernel has a point; without a GPU with known ceilings there is no
# page.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/ui-lib.sh"
object=$SONDE_BUILD/src/inject/libsonde-cuda.so
[ -e "$object" ] || skip "libsonde-cuda.so is not built"
export XDG_CACHE_HOME=$work/nothing # a machine whose ceilings were never measured
mkdir -p cuda13
cp "$(target cupti_stand_in.so)" cuda13/libcupti.so.13
run 5 env CUDA_INJECTION64_PATH="$object" LD_LIBRARY_PATH="$work/cuda13" SONDE_GPU=api STAND_IN= "$SONDE" record -q -o limits.sonde -- "$(target cuda_driver)"
run 0 "$SONDE" report -q --json --section roofline -o figures.json limits.sonde
run 0 "$SONDE" report -q -f html -o limits.html limits.sonde
run 0 "$SONDE" record -q -o told.sonde -- "$(target device_told)"
begin limits limits.sonde
begin told told.sonde
ui_node roofline_devices.mjs "$browser" "$work/figures.json" "$(head -n 1 limits.url)" "file://$work/limits.html" "$(head -n 1 told.url)"
