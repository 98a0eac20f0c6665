# ui-devices.sh: GPU work in a browser, served and in one file: tables with the known figures of a program, kernels
# with their launches and instances, slices of queues; a recording without GPU work has no such page.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/ui-lib.sh"
told=$(target device_told)
run 0 "$SONDE" record -q -o told.sonde -- "$told"
run 0 "$SONDE" report -q --json --section kernels,streams,devices -o figures.json told.sonde
run 0 "$SONDE" report -q -f html -o told.html told.sonde
run 0 "$SONDE" record -q -o without.sonde -- sleep 0.1
begin told told.sonde
begin without without.sonde
limits=-
object=$SONDE_BUILD/src/inject/libsonde-cuda.so
if [ -e "$object" ]; then # a device whose limits per multiprocessor are known: the stand-in of cuda.sh
	mkdir -p cuda13
	cp "$(target cupti_stand_in.so)" cuda13/libcupti.so.13
	run 5 env CUDA_INJECTION64_PATH="$object" LD_LIBRARY_PATH="$work/cuda13" SONDE_GPU=api STAND_IN= "$SONDE" record -q -o limits.sonde -- "$(target cuda_driver)"
	begin limits limits.sonde
	limits=$(head -n 1 limits.url)
fi
# Which function submitted the work is known at level full: with an OpenCL program, if there is a device for it.
asked=-
if [ -e "$SONDE_BUILD/src/inject/libsonde-opencl.so" ] && "$(target opencl_stacks)" >.plain 2>&1; then
	run 0 "$SONDE" record --gpu=full -q -o asked.sonde -- "$(target opencl_stacks)"
	rows asked.sonde launch-stacks >asked.json
	begin asked asked.sonde
	asked=$(head -n 1 asked.url)
fi
ui_node devices.mjs "$browser" "$work/figures.json" "$(head -n 1 told.url)" "file://$work/told.html" "$limits" "$(head -n 1 without.url)" "$asked" "$work/asked.json"
