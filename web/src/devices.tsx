/* devices.tsx: the page `devices`: figures of each GPU and its queues; the kernels that ran there; the launch
 * configurations of one kernel (`focus`, else the kernel with the most time) and its instances, each a link to its
 * slice on the timeline; then copies, memory, host calls and gaps, each a link to its time. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { type Column, type Report, type Row, type Table, table, text, value } from "./data";
import { clean, figure, only } from "./figure";
import { Await, Notes, said, useReport, useWorld, why } from "./parts";
import { elsewhere, link, type Selection } from "./selection";
import { OneTable } from "./sections";
import { DataTable, filled } from "./table";
import type { Lanes, Slice } from "./tiles";
import { moment } from "./timeline_view";

export const OF_DEVICES = ["devices", "streams", "kernels", "launches", "copies", "peers", "device-memory", "device-peak", "device-zones", "device-calls", "launch-stacks", "device-gaps"];
const MOST = 2000, INSTANCES = 500;
const FIGURES = ["calls", "total_ns", "share", "mean_ns", "min_ns", "max_ns", "mean_delay_ns", "occupancy", "limited_by", "filled_share", "lanes_share"];

/* Columns that come first, because these tables are too wide for most windows: the names stay visible when figures
 * scroll. */
const FIRST: Record<string, string[]> = { kernels: ["kernel"], launches: ["kernel"], "device-gaps": ["gap_ns", "at_ns", "next", "function", "zone"] };

function ordered(table: Table): Table {
	const first = FIRST[table.id] ?? [], place = (key: string) => (first.includes(key) ? first.indexOf(key) : first.length);
	const columns = table.columns.map((column) => (column.key === "at_ns" ? { ...column, title: "start" } : column)); /* times have more digits than figures */
	return { ...table, columns: columns.sort((a, b) => place(a.key) - place(b.key)) };
}

const number = (row: Row, key: string) => Number(value(row, key) ?? 0);

/* A slice on the timeline, with some time around it. */
function toSlice(selection: Selection, duration: number, slice: Slice, name: string): string {
	const around = Math.max(slice.length * 2, 100), from = Math.max(0, Math.floor(slice.start - around)), to = Math.ceil(Math.min(duration, slice.start + slice.length + around));
	return elsewhere(selection, "timeline", { slice: [slice.lane, slice.start, slice.length, slice.name, 1].join(":"), view: `${from}-${to}`, search: only(name) });
}

/* --- one kernel --------------------------------------------------------------------------------------------------------- */

interface Instances {
	lanes: Lanes;
	slices: Slice[];
	count: number | null;
}

/* Slices with this name in device queues only: a zone can have the same name. */
function useInstances(name: string): { found: Instances | null; error: string } {
	const { data, selection, revision } = useWorld(), { from, to } = selection;
	const [state, set] = useState<{ found: Instances | null; error: string }>({ found: null, error: "" });
	useEffect(() => {
		let current = true;
		data.lanes().then(async (lanes) => {
			const names = lanes.names.flatMap((at, i) => (at.name === name ? [i] : []));
			const part = { ...(from ? { from: Number(from) } : {}), ...(to ? { to: Number(to) } : {}) };
			const answer = names.length ? await data.find({ names, limit: INSTANCES, ...part }) : { count: 0, slices: [] };
			const slices = answer.slices.filter((slice) => lanes.lanes[slice.lane]?.kind === "device");
			return { lanes, slices, count: slices.length === answer.slices.length ? answer.count : slices.length };
		}).then((found) => current && set({ found, error: "" }), (error: Error) => current && set({ found: null, error: error.message }));
		return () => {
			current = false;
		};
	}, [data, name, from, to, revision]);
	return state;
}

function InstanceTable({ found, name }: { found: Instances; name: string }) {
	const { selection, recording } = useWorld();
	/* the smallest distance between two starts, which determines the number of digits */
	const step = useMemo(() => found.slices.reduce((least, slice, i) => {
		const apart = slice.start - (found.slices[i - 1]?.start ?? slice.start);
		return apart > 0 && apart < least ? apart : least;
	}, recording.duration_ns), [found]);
	const rows: Row[] = found.slices.map((slice, i) => ({ start_ns: slice.start, duration_ns: slice.length, queue: found.lanes.lanes[slice.lane]?.title ?? "", at: i }));
	const shown: Table = {
		id: "instances", title: "Instances", kind: "table", notes: [], omitted: Math.max(0, (found.count ?? 0) - rows.length), rows,
		columns: [
			{ key: "start_ns", title: "start", unit: "ns", basis: "measured" }, { key: "duration_ns", title: "duration", unit: "ns", basis: "measured" },
			{ key: "queue", title: "queue", unit: "text", basis: "measured" },
		],
	};
	const render = (row: Row, column: Column) => column.key === "start_ns"
		? <a href={toSlice(selection, recording.duration_ns, found.slices[number(row, "at")]!, name)}>{moment(number(row, "start_ns"), step, number(row, "start_ns"))}</a> : undefined;
	return (
		<>
			<p class="count" role="status" data-instances={rows.length}>
				{figure("count", rows.length)} {rows.length === 1 ? "instance" : "instances"}{shown.omitted > 0 ? `, the earliest of ${figure("count", found.count ?? 0)}` : found.count === null ? ", the earliest" : ""}
				{rows.length > 0 && <>, each with a link to its place on the timeline; <a href={elsewhere(selection, "timeline", { search: only(name) })}>show all of them on the timeline</a></>}.
			</p>
			{rows.length > 0 && <DataTable table={shown} drawn={{ most: 8, label: `Instances of ${clean(name)}`, render }} />}
		</>
	);
}

function InstancesOf({ name }: { name: string }) {
	const { found, error } = useInstances(name);
	return error ? <p class="failed" role="alert">{clean(error)}</p> : found ? <InstanceTable found={found} name={name} /> : <p class="wait" role="status">Loading…</p>;
}

/* A kernel on two devices has two rows. Occupancy is the only unknown cell with a reason. */
function OneKernel({ kernels, launches, name }: { kernels: Table; launches: Table | null; name: string }) {
	const { recording, selection } = useWorld(), rows = kernels.rows.filter((row) => text(row, "kernel") === name);
	const own = launches && { ...launches, columns: launches.columns.filter(({ key }) => key !== "kernel"), rows: launches.rows.filter((row) => text(row, "kernel") === name), omitted: 0 };
	const columns = FIGURES.flatMap((key) => kernels.columns.filter((column) => column.key === key));
	return (
		<section class="one-kernel" aria-labelledby="one-kernel">
			<h2 id="one-kernel"><code>{clean(name)}</code></h2>
			{!rows.length && <p class="wait" data-fact="none-of-it">{selection.thread || selection.from || selection.to ? "It did not run in the selected threads and time." : "No kernel has this name."}</p>}
			{rows.map((row) => (
				<>
					{rows.length > 1 && <h3>{clean(text(row, "device"))}</h3>}
					<dl class="figures">
						{columns.filter(({ key }) => key === "occupancy" || value(row, key) !== null).map((column) => <div data-figure={column.key} title={why(row, column) || undefined}><dt>{column.title}</dt><dd>{said(row, column)}</dd></div>)}
					</dl>
				</>
			))}
			{own && own.rows.length > 0 && <><h3>Launch configurations</h3><DataTable table={filled(own)} drawn={{ most: 8, label: `Launch configurations of ${clean(name)}` }} /><Notes notes={own.notes} /></>}
			{rows.length > 0 && (recording.timeline ?? true) && <><h3>On the timeline</h3><InstancesOf name={name} /></>}
		</section>
	);
}

/* --- together ------------------------------------------------------------------------------------------------------------- */

function KernelLink({ name }: { name: string }) {
	const { selection } = useWorld();
	return <a href={link({ ...selection, focus: name })}>{clean(name)}</a>;
}

const ofKernels = (row: Row, column: Column) => column.key === "kernel" && text(row, "kernel") ? <KernelLink name={text(row, "kernel")} /> : undefined;

function GapLink({ row }: { row: Row }) {
	const { selection } = useWorld(), at = number(row, "at_ns"), long = Math.max(1, number(row, "gap_ns"));
	return <a href={elsewhere(selection, "timeline", { view: `${Math.max(0, Math.floor(at - long / 2))}-${Math.ceil(at + long * 1.5)}` })}>{moment(at, long, at)}</a>;
}

const ofGaps = (row: Row, column: Column) => column.key === "at_ns" ? <GapLink row={row} /> : undefined;

function AskerLink({ name }: { name: string }) {
	const { selection, recording } = useWorld();
	return recording.sections.includes("functions") ? <a href={elsewhere(selection, "functions", { focus: name })}>{clean(name)}</a> : <>{clean(name)}</>;
}

const ofAskers = (row: Row, column: Column) => column.key === "launched_in" && text(row, "launched_in") ? <AskerLink name={text(row, "launched_in")} />
	: column.key === "operation" && text(row, "kind") === "kernel" ? <KernelLink name={text(row, "operation")} /> : undefined;

/* A table that is not empty; otherwise the notes that say why. */
function Part({ report, id, title, most, render }: { report: Report; id: string; title: string; most?: number; render?: (row: Row, column: Column) => preact.JSX.Element | undefined }) {
	const found = table(report, id), shown = useMemo(() => found && ordered(filled(found)), [found]);
	if (!found?.rows.length || !shown)
		return null;
	return (
		<section aria-labelledby={`of-${id}`}>
			<h2 id={`of-${id}`}>{title}</h2>
			<DataTable table={shown} drawn={{ most: most ?? 10, label: title, render }} />
			{found.omitted > 0 && <p class="count">{figure("count", found.omitted)} more rows are in the recording.</p>}
			<Notes notes={found.notes} />
		</section>
	);
}

function All({ report }: { report: Report }) {
	const { selection } = useWorld(), found = table(report, "kernels"), kernels = useMemo(() => found && ordered(found), [found]), first = kernels?.rows[0], name = selection.focus || (first ? text(first, "kernel") : "");
	if (!OF_DEVICES.some((id) => table(report, id)?.rows.length))
		return (
			<>
				<p class="wait" data-fact="no-device-work">{selection.thread || selection.from || selection.to ? "No GPU was active for the selected threads and time." : "No GPU activity was recorded."}</p>
				<Notes notes={table(report, "devices")?.notes ?? []} />
			</>
		);
	return (
		<>
			<Part report={report} id="devices" title="Activity" />
			<Part report={report} id="streams" title="Queues" />
			{kernels && kernels.rows.length > 0 && (
				<section aria-labelledby="of-kernels">
					<h2 id="of-kernels">Kernels</h2>
					<OneTable section={kernels} most={12} render={ofKernels} />
				</section>
			)}
			{kernels && name && <OneKernel kernels={kernels} launches={table(report, "launches")} name={name} />}
			<Part report={report} id="copies" title="Copies" />
			<Part report={report} id="peers" title="P2P copies" />
			<Part report={report} id="device-gaps" title="Gaps: when a GPU was idle" most={12} render={ofGaps} />
			<Part report={report} id="device-calls" title="GPU API calls" />
			<Part report={report} id="launch-stacks" title="Call sites of kernels, copies and allocations" render={ofAskers} />
			<Part report={report} id="device-memory" title="Memory" />
			<Part report={report} id="device-peak" title="Memory at the peak" />
			<Part report={report} id="device-zones" title="Memory by zone" />
		</>
	);
}

export function Devices() {
	const { selection, recording } = useWorld(), there = OF_DEVICES.filter((id) => recording.sections.includes(id));
	const answer = useReport(there.length ? there : ["devices"], { ...selection, focus: "", weigh: "", at: "", heap: "" }, MOST);
	return (
		<>
			<h1>Devices</h1>
			<Await answer={answer}>{(report) => <All report={report} />}</Await>
		</>
	);
}
