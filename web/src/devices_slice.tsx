/* devices_slice.tsx: details of one slice of a GPU queue: the delay from submission to start and, for a kernel, its launch
 * configuration with the theoretical occupancy. */
import { type Row, type Table, table, text, value } from "./data";
import { clean, figure } from "./figure";
import { useReport, useWorld } from "./parts";
import { elsewhere } from "./selection";
import type { Arrow } from "./tiles";

const MOST = 2000;

/* "64 blocks of 256 threads, 32 registers, 1.02 kB shared"; "" if unknown. */
export function launchText(row: Row): string {
	const grid = text(row, "grid"), block = text(row, "block"), registers = value(row, "registers"), shared = value(row, "shared_b"), local = value(row, "local_b");
	const words = [
		block ? (grid ? `${grid} blocks of ${block} threads` : `blocks of ${block} threads`) : grid && `${grid} threads`,
		typeof registers === "number" && `${figure("count", registers)} registers per thread`,
		typeof shared === "number" && `${figure("bytes", shared)} shared`,
		typeof local === "number" && `${figure("bytes", local)} local`,
	];
	return words.filter((word) => word).join(", ");
}

function Launch({ launches, name }: { launches: Table; name: string }) {
	const { selection } = useWorld(), rows = launches.rows.filter((row) => text(row, "kernel") === name), one = rows.length === 1 && rows[0];
	if (!rows.length)
		return null;
	if (!one)
		return <><dt>launched</dt><dd data-fact="launch">in <a href={elsewhere(selection, "devices", { focus: name })}>{figure("count", rows.length)} configurations</a></dd></>;
	const occupancy = value(one, "occupancy"), limit = text(one, "limited_by");
	return (
		<>
			{launchText(one) && <><dt>launched</dt><dd data-fact="launch">{clean(launchText(one))}</dd></>}
			<dt>theoretical occupancy</dt>
			<dd data-fact="occupancy">{typeof occupancy === "number" ? <>{figure("ratio", occupancy)}{limit && `, limited by ${clean(limit)}`}</> : `unknown: ${clean(one.absent?.["occupancy"] ?? "")}`}</dd>
		</>
	);
}

/* `arrows`: the arrows that touch the slice. If the whole run has only one launch configuration of a kernel, each
 * launch has that one. */
export function DeviceFacts({ name, start, arrows }: { name: string; start: number; arrows: Arrow[] }) {
	const { data, selection } = useWorld(), whole = data.inFile ? {} : { ...selection, from: "", to: "", last: "", thread: "", focus: "", weigh: "", at: "", heap: "" };
	const { report } = useReport(["launches"], whole, MOST), launches = table(report, "launches");
	const launch = arrows.find((arrow) => arrow.kind === "launch" && arrow.to === start);
	return (
		<>
			{launch && <><dt>submitted</dt><dd data-fact="queue-delay">{figure("ns", start - launch.from)} before it started</dd></>}
			{launches && <Launch launches={launches} name={name} />}
		</>
	);
}
