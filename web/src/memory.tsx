/* memory.tsx: the page `memory`: one heap over time, its live blocks at any time, blocks live at exit, temporary blocks and
 * block sizes; and the RSS of processes. Heaps are shown one at a time and never added up. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { type Report, type Row, type Table, table, text, value } from "./data";
import { CurveView, moment, type Curve } from "./curves";
import { clean, figure } from "./figure";
import { NoTree, Picture, Tools, treeOf } from "./flame";
import { OverTime } from "./overview_curves";
import { Await, Notes, useReport, useWorld } from "./parts";
import { elsewhere, go } from "./selection";
import { DataTable, filled, namesFirst } from "./table";

const INTERVALS = 400, ROWS = 1000, MOST = 1000000, MALLOC = "malloc";
const RESIDENT = ["resident memory", "resident memory with shared pages split among processes (PSS)", "swapped out"];

/* --- the curve --------------------------------------------------------------------------------------------------------- */

function number(row: Row, key: string): number | null {
	const cell = value(row, key);
	return typeof cell === "number" ? cell : null;
}

function curveOf(found: Table): Curve {
	const points = found.rows.map((row) => ({ from: number(row, "from_ns") ?? 0, most: number(row, "peak_b"), end: number(row, "live_b") }));
	const length = points.length > 1 ? (points[points.length - 1]!.from - points[0]!.from) / (points.length - 1) : 0;
	const last = points[points.length - 1]?.from ?? 0;
	return { title: clean(found.title), unit: "bytes", points, from: points[0]?.from ?? 0, to: Math.round(last + length) };
}

/* Text reports draw bars in the table; here, a chart above the table has them. */
function withoutBars(found: Table): Table {
	return filled({ ...found, columns: found.columns.filter((column) => column.key !== "bar") });
}

/* The heap that the curve shows: the one with the highest peak of its kind; each pool name is a kind. */
function drawnOf(report: Report, heap: string): Row | undefined {
	return table(report, "heaps")?.rows.find((row) => (text(row, "kind") === "pool" ? text(row, "name") === heap : text(row, "kind") === heap));
}

/* The number of heaps of this kind: the curve shows one, the flame graph all. */
function alike(report: Report, heap: string): number {
	return table(report, "heaps")?.rows.filter((row) => (text(row, "kind") === "pool" ? text(row, "name") : text(row, "kind")) === heap).length ?? 0;
}

function HeapOverTime({ report, heap }: { report: Report; heap: string }) {
	const { selection } = useWorld();
	const found = table(report, "timeline"), row = drawnOf(report, heap), many = alike(report, heap);
	const curve = useMemo(() => (found ? curveOf(found) : null), [found]);
	const peak = row ? number(row, "peak_ns") : null, peakB = row ? number(row, "peak_b") : null;
	const at = selection.at ? Number(selection.at) : peak;
	if (!found || !curve?.points.length)
		return <><p class="wait">No data of this heap over time.</p><Notes notes={found?.notes ?? []} /></>;
	const pick = (ns: number) => go(selection, { at: String(Math.max(0, Math.round(ns))) });
	return (
		<>
			<CurveView curve={curve} chosen={{ at, marks: peak === null ? [] : [{ at: peak, title: "peak" }], onPick: pick }}>
				Click, or use the arrow keys, to see the blocks that were live then.
			</CurveView>
			<div class="tools">
				{peak !== null && peakB !== null && (
					<button type="button" data-peak={peak} aria-pressed={at === peak} onClick={() => go(selection, { at: "" })}>
						The peak: {figure("bytes", peakB)} at {moment(peak, 1000)}
					</button>
				)}
			</div>
			<details class="twin">
				<summary>view as table</summary>
				<DataTable table={withoutBars(found)} drawn={{ label: "The heap over time as a table", most: 10 }} />
			</details>
			<Notes notes={found.notes} />
			{many > 1 && <Notes notes={[{ text: `the curve shows one heap; the table shows all ${many} heaps of that name, one per process: select a thread above to see only its own`, warning: false }]} />}
		</>
	);
}

/* --- what was alive ------------------------------------------------------------------------------------------------------ */

interface Moment {
	at: number;
	report: Report | null;
	error: string;
}

/* The figures of the requested time. The answer for another time is never shown. */
function useMoment(heap: string, at: number): Moment | null {
	const { data, selection } = useWorld(), { thread } = selection;
	const [shown, set] = useState<Moment | null>(null);
	useEffect(() => {
		let current = true;
		data.report(["calltree"], { thread, weigh: "live", at: String(at), heap }, MOST).then(
			(report) => current && set({ at, report, error: "" }), (error: Error) => current && set({ at, report: null, error: error.message }));
		return () => {
			current = false;
		};
	}, [data, thread, heap, at]);
	return shown;
}

function Tree({ report, at }: { report: Report; at: number }) {
	const tree = treeOf(report);
	if (!tree)
		return <NoTree report={report} />;
	return (
		<>
			<p class="lead" data-alive={tree.nodes[0]!.total} data-at={at}>
				{figure("bytes", tree.nodes[0]!.total)} in {figure("count", tree.nodes[0]!.count)} blocks, by call site.
			</p>
			<Tools />
			<Picture tree={tree} />
			<Notes notes={tree.notes} />
		</>
	);
}

function Alive({ heap, at }: { heap: string; at: number }) {
	const shown = useMoment(heap, at);
	if (!shown)
		return <p class="wait" role="status">Loading…</p>;
	return (
		<section aria-labelledby="alive" aria-busy={shown.at !== at}>
			<h2 id="alive">Live memory at {moment(shown.at, 1000)}</h2>
			{shown.report ? <Tree report={shown.report} at={shown.at} /> : <p class="failed" role="alert">{clean(shown.error)}</p>}
		</section>
	);
}

function Heap({ heap }: { heap: string }) {
	const { selection } = useWorld();
	const part = { from: selection.from, to: selection.to, thread: selection.thread };
	const drawn = useReport(["timeline"], { ...part, heap }, INTERVALS), heaps = useReport(["heaps"], part, ROWS);
	const both = drawn.report && heaps.report ? { ...drawn.report, sections: [...drawn.report.sections, ...heaps.report.sections] } : null;
	const row = both ? drawnOf(both, heap) : undefined;
	const at = selection.at ? Number(selection.at) : row ? number(row, "peak_ns") : null;
	return (
		<>
			<Await answer={{ ...drawn, report: both, error: drawn.error || heaps.error }}>{(report) => <HeapOverTime report={report} heap={heap} />}</Await>
			{at !== null && Number.isFinite(at) && <Alive heap={heap} at={at} />}
		</>
	);
}

/* --- sizes, lifetimes ------------------------------------------------------------------------------------------------------ */

/* A bar per class, as high as its number of blocks; the table of the same values is below. */
function Histogram({ found, from, below }: { found: Table; from: string; below: string }) {
	const unit = found.columns.find((column) => column.key === from)?.unit ?? "count";
	const most = found.rows.reduce((high, row) => Math.max(high, number(row, "blocks") ?? 0), 0) || 1;
	const wide = Math.min(44, Math.max(10, 900 / Math.max(1, found.rows.length))), tall = 110;
	return (
		<div class="histogram" tabIndex={0} role="region" aria-label={`${clean(found.title)} as a histogram`}>
			<svg width={found.rows.length * wide} height={tall + 22} role="img" aria-label={`${clean(found.title)}: same data as the table below`}>
				{found.rows.map((row, i) => {
					const blocks = number(row, "blocks") ?? 0, high = blocks ? Math.max(1, (blocks / most) * tall) : 0;
					return (
						<g>
							<title>{`${figure(unit, number(row, from) ?? 0)} to ${figure(unit, number(row, below) ?? 0)}: ${figure("count", blocks)} blocks`}</title>
							<rect class="column" x={i * wide + 1} y={tall - high} width={wide - 2} height={high} />
							{i % Math.ceil(58 / wide) === 0 && <text x={i * wide + 1} y={tall + 15}>{figure(unit, number(row, from) ?? 0)}</text>}
						</g>
					);
				})}
			</svg>
		</div>
	);
}

const SHAPES: Record<string, [from: string, below: string]> = { sizes: ["from_b", "below_b"], lifetimes: ["from_ns", "below_ns"] };

/* One table per kind of heap, because only bars of one kind are comparable. */
function kindsOf(found: Table): Table[] {
	const kinds = [...new Set(found.rows.map((row) => text(row, "heap")))];
	return kinds.map((kind) => ({ ...found, id: found.id + (kind ? " " + kind : ""), title: found.title + (kind ? `: ${kind}` : ""), rows: found.rows.filter((row) => text(row, "heap") === kind) }));
}

function Parts({ report }: { report: Report }) {
	const tables = report.sections.filter((section) => section.kind === "table") as Table[];
	return (
		<>
			{tables.map((found) => {
				const shape = SHAPES[found.id];
				return (
					<section data-section={found.id}>
						<h2>{clean(found.title)}</h2>
						{found.rows.length > 0 && (shape ? kindsOf(found) : [found]).map((one) => (
							<>
								{shape && <Histogram found={one} from={shape[0]} below={shape[1]} />}
								<DataTable table={namesFirst(withoutBars(one))} drawn={{ most: 10, label: one.title }} />
							</>
						))}
						{!found.rows.length && <p class="wait">Nothing.</p>}
						<Notes notes={found.notes} />
					</section>
				);
			})}
		</>
	);
}

/* --- the page ------------------------------------------------------------------------------------------------------------- */

function Heaps() {
	const { selection, recording, data } = useWorld();
	const heaps = recording.heaps ?? [], heap = selection.heap || (heaps.includes(MALLOC) ? MALLOC : heaps[0] ?? "");
	const part = { from: selection.from, to: selection.to, thread: selection.thread };
	/* The answer for `sizes` includes the lifetimes; in a file they are a section of their own. */
	const rest = useReport(["leaks", "temporary", "sizes", ...(data.inFile ? ["lifetimes"] : [])], part, ROWS);
	return (
		<>
			{heaps.length > 1 && (
				<div class="tools">
					<label>heap{" "}
						<select value={heap} onChange={(event) => go(selection, { heap: event.currentTarget.value, at: "" })}>
							{heaps.map((name) => <option value={name}>{clean(name)}</option>)}
						</select>
					</label>
					<span class="count">Heaps contain each other, so they are not added up.</span>
				</div>
			)}
			{data.inFile ? <InFile /> : <Heap heap={heap} />}
			<Await answer={rest}>{(report) => <Parts report={report} />}</Await>
		</>
	);
}

/* A file has the requested curve, but not the call sites at a given time. */
function InFile() {
	const { recording } = useWorld();
	const answer = useReport(["timeline"], {}), found = answer.report && table(answer.report, "timeline");
	const curve = useMemo(() => (found ? curveOf(found) : null), [found]);
	if (!found || !curve?.points.length)
		return null;
	return (
		<>
			<h2 data-fact="whose">{clean(found.title)}</h2>
			<CurveView curve={curve} />
			<DataTable table={withoutBars(found)} drawn={{ label: "The heap over time as a table", most: 10 }} />
			<Notes notes={[...found.notes, { text: `this file has no other times: open sonde view ${recording.file}`, warning: false }]} />
		</>
	);
}

export function Memory() {
	const { selection, recording } = useWorld();
	const has = (section: string) => recording.sections.includes(section);
	const resident = useReport(["memory"], { from: selection.from, to: selection.to, thread: selection.thread }, ROWS);
	return (
		<>
			<h1>Memory</h1>
			{has("heap") ? <Heaps /> : <p class="wait">Allocations were not recorded: <code class="command">sonde record --heap -- COMMAND</code></p>}
			{has("memory") && <OverTime titles={RESIDENT} heading="Resident over time" />}
			{has("memory") && <Await answer={resident}>{(report) => <Parts report={report} />}</Await>}
			{has("snapshots") && <p><a href={elsewhere(selection, "section", { section: "snapshots" })}>Snapshots</a></p>}
		</>
	);
}
