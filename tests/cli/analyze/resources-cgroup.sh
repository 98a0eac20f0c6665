# resources-cgroup.sh: under a real CPU quota and a real memory limit, the reported figures agree with the cgroup's
# own files.
# measures: number of readings in an interval
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
[ "$(id -u)" -eq 0 ] || skip "only root makes control groups"
uses=$SONDE_BUILD/tests/targets/uses

groups=()
at_exit() {
	for group in "${groups[@]}"; do rmdir "$group" 2>/dev/null || true; done
}

# group CONTROLLER FILE: creates a cgroup (version 1 or 2) that has this file; its directory is $group.
group() {
	for base in "/sys/fs/cgroup/$1" /sys/fs/cgroup /sys/fs/cgroup/unified; do
		[ -e "$base/cgroup.procs" ] || continue
		[ ! -w "$base/cgroup.subtree_control" ] || echo "+$1" 2>/dev/null >"$base/cgroup.subtree_control" || true
		group=$base/sonde-test-$$-$1
		mkdir "$group" 2>/dev/null || continue
		groups+=("$group")
		[ ! -e "$group/$2" ] || return 0
		rmdir "$group"
	done
	return 1
}

# throttled: throttled time in ns, from the cgroup's file.
throttled() {
	awk '$1 == "throttled_time" { print $2 } $1 == "throttled_usec" { print 1000 * $2 }' "$group/cpu.stat"
}

met=
# --- a seventh of a core: less than it gets where others want the machine, too ----------------------------------------

if group cpu cpu.max; then
	echo "15000 100000" >"$group/cpu.max"
elif group cpu cpu.cfs_quota_us; then
	echo 100000 >"$group/cpu.cfs_period_us"
	echo 15000 >"$group/cpu.cfs_quota_us"
else
	group=
fi
if [ "$group" ]; then
	met+=" cpu"
	# The group has priority within its quota: if other load took the CPUs, the run would be noisy and have no
	# findings.
	echo 10000 2>/dev/null >"$group/cpu.weight" || echo 262144 2>/dev/null >"$group/cpu.shares" || true
	# all: sonde runs in the group, too, and knows it from its first reading. command: only the command enters the
	# group.
	for where in all command; do
		before=$(throttled)
		case $where in
		all) sh -c "echo \$\$ >$group/cgroup.procs && exec $SONDE stat --json --force -o stat.json -- $uses spins 400" >.said ;;
		command) "$SONDE" stat --json --force -o stat.json -- sh -c "echo \$\$ >$group/cgroup.procs && exec $uses spins 400" >.said ;;
		esac
		after=$(throttled)
		said=$(jq '.cgroup.throttled_s * 1e9' stat.json)
		# Time before the first and after the last reading is missing.
		holds "$said <= $after - $before + 1e6 && $said >= 0.75 * ($after - $before)" "$where: $said of $((after - before)) ns"
		holds "$after > $before" "$where: nothing was held back"
		holds "$(jq .cgroup.throttled_periods stat.json) > 0.3 && $(jq .cgroup.throttled_periods stat.json) <= 1"
		holds "$(jq .compute.cpu_utilization stat.json) <= 0.2" "$where: a seventh of a core"
		holds "$(jq .timing.cpu_s stat.json) >= 0.4"
	done
	# Without the quota the run would take as long as its CPU time: this is what advice predicts, since only the
	# quota is on the path.
	sh -c "echo \$\$ >$group/cgroup.procs && exec $SONDE record -q -f --threads -o run.sonde -- $uses spins 400" >.said
	"$SONDE" report -q --json --section findings,critical-path,summary run.sonde >found.json
	quota=$(jq '[.sections[] | select(.id == "findings").rows[] | select(.subject == "the cgroup\u0027s CPU quota")][0].saves_ns' found.json)
	waited=$(jq '[.sections[] | select(.id == "critical-path").rows[] | select(.state == "runnable").time_ns] | add' found.json)
	holds "$quota > 1e9 && $quota <= $waited + 1 && $quota >= 0.75 * $waited" "the quota: $quota of $waited ns"
fi

# --- 200 MB -------------------------------------------------------------------------------------------------------------

if group memory memory.max; then
	limit=$group/memory.max
elif group memory memory.limit_in_bytes; then
	limit=$group/memory.limit_in_bytes
else
	limit=
fi
if [ "$limit" ] && echo 200000000 >"$limit"; then
	met+=" memory"
	bytes=$(cat "$limit")
	for where in all command; do
		case $where in
		all) sh -c "echo \$\$ >$group/cgroup.procs && exec $SONDE record -q -f -o run.sonde -- $uses memory 100" >.said ;;
		command) "$SONDE" record -q -f -o run.sonde -- sh -c "echo \$\$ >$group/cgroup.procs && exec $uses memory 100" >.said ;;
		esac
		"$SONDE" report -q --json --section machine run.sonde >machine.json
		row='.sections[] | select(.id == "machine").rows[] | select(.what == "cgroup memory")'
		# 100 MiB are 52 % of this limit, but 1 % of the memory of most machines.
		holds "$(jq "$row | .max" machine.json) >= 0.5 && $(jq "$row | .max" machine.json) <= 1" "$where: the most"
	done
	sh -c "echo \$\$ >$group/cgroup.procs && exec $SONDE stat --json --force -o stat.json -- $uses memory 100" >.said
	equal "$(jq .system.memory_total_b stat.json)" "$bytes"
	holds "$(jq .system.memory_max stat.json) >= 0.5 && $(jq .system.memory_max stat.json) <= 1"
	holds "$(jq .cgroup.memory_peak_b stat.json) >= 104857600 && $(jq .cgroup.memory_peak_b stat.json) <= $bytes"
fi
[ "$met" ] || skip "no control group with a quota or a limit is to be had here"
