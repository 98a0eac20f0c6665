/* flame.tsx: the page `flame`: stacks by any metric of the recording: merged (as an icicle or a flame graph), in time
 * order, or as one function between its callers and its callees. Each view is available as a table, too. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { type Report, type Row, type Stacks, type Table, text, type Tree } from "./data";
import { clean, figure, matcher } from "./figure";
import { FlameCanvas, type Laid } from "./flame_canvas";
import { chart } from "./flame_chart";
import { layout } from "./flame_layout";
import { Await, Notes, useReport, useWorld } from "./parts";
import { functionsOf, sandwich } from "./sandwich";
import { go, link, refine, type Selection } from "./selection";
import { Count, DataTable, Filter } from "./table";

const MOST = 1000000, SAMPLES = 20000, OFFERED = 2000;

/* --- what the URL says of the view -------------------------------------------------------------------------------- */

type Way = "" | "flame" | "chart" | "sandwich";
const WAYS: [way: Way, title: string][] = [["", "Icicle"], ["flame", "Flame"], ["chart", "In time order"], ["sandwich", "Callers and callees"]];

interface Viewed {
	way: Way;
	asTable: boolean;
}

function viewed(selection: Selection): Viewed {
	const words = selection.view.split(".");
	return { way: WAYS.find(([way]) => way && words.includes(way))?.[0] ?? "", asTable: words.includes("table") };
}

function written({ way, asTable }: Viewed): string {
	return [way, asTable ? "table" : ""].filter(Boolean).join(".");
}

/* --- parts --------------------------------------------------------------------------------------------------------- */

/* The tree as a table: a row per frame, indented by its depth. */
function twin(tree: Tree): Table {
	const depth = layout(tree).depth, whole = tree.nodes[0]?.total ?? 0;
	const rows: Row[] = tree.nodes.map((node, i) => ({
		total_share: whole ? node.total / whole : 0, total: node.total, self: node.self, count: node.count, level: depth[i] ?? 0,
		frame: node.name || "all", module: node.module, file: node.file ? node.file + (node.line ? `:${node.line}` : "") : null,
	}));
	return {
		id: tree.id, title: tree.title, kind: "table", notes: [], omitted: 0, rows,
		columns: [
			{ key: "total_share", title: "total", unit: "ratio", basis: "measured" },
			{ key: "total", title: tree.value, unit: tree.unit, basis: "measured" },
			{ key: "self", title: "self", unit: tree.unit, basis: "measured" },
			{ key: "count", title: "count", unit: "count", basis: "measured" },
			{ key: "level", title: "level", unit: "id", basis: "measured" },
			{ key: "frame", title: "frame", unit: "text", basis: "measured" },
			{ key: "module", title: "module", unit: "text", basis: "measured" },
			{ key: "file", title: "file", unit: "text", basis: "measured" },
		],
	};
}

export function Twin({ tree, words, label }: { tree: Tree; words: string; label?: string }) {
	const rows = useMemo(() => twin(tree), [tree]);
	const deep = (row: Row) => Math.min(Number(row["level"]), 40);
	return (
		<>
			<DataTable table={rows} drawn={{
				filter: words, label: label ?? "The call tree as a table", most: 24,
				render: (row, column) => column.key === "frame" ? <span style={{ paddingLeft: `${deep(row) * 0.8}ch` }}>{clean(text(row, "frame"))}</span> : undefined,
			}} />
			<Count table={rows} filter={words} />
		</>
	);
}

/* The search field, and the switch between picture and table. */
export function Tools({ children }: { children?: ComponentChildren }) {
	const { selection } = useWorld(), view = viewed(selection);
	return (
		<div class="tools">
			<Filter words={selection.search} label="Search, a regular expression" onWords={(search) => refine(selection, { search })} />
			{children}
			<label>
				<input type="checkbox" checked={view.asTable} onChange={() => go(selection, { view: written({ ...view, asTable: !view.asTable }) })} /> view as table
			</label>
		</div>
	);
}

/* A tree as a picture or a table, depending on the URL. */
export function Picture({ tree, laid }: { tree: Tree; laid?: Laid }) {
	const { selection, dark } = useWorld(), view = viewed(selection), words = selection.search;
	const wanted = useMemo(() => matcher(words), [words]);
	if (view.asTable)
		return <Twin tree={tree} words={words} />;
	return <FlameCanvas tree={tree} look={{ dark, upside: view.way === "flame", wanted }} laid={laid} zoomed={Number(selection.zoom) || 0}
		onZoom={(i) => i !== (Number(selection.zoom) || 0) && go(selection, { zoom: i ? String(i) : "" })}
		onName={(name) => go(selection, { page: "flame", view: "sandwich", focus: name, zoom: "", search: "" })} />;
}

function lead(tree: Tree): string {
	return `${tree.value.replace(/^./, (first) => first.toUpperCase())}: ${figure(tree.unit, tree.nodes[0]?.total ?? 0)} in all, ${figure("count", tree.nodes.length - 1)} frames, colours by module.`;
}

export function treeOf(report: Report): Tree | null {
	const section = report.sections[0];
	return section?.kind === "tree" && section.nodes[0]?.total ? section : null;
}

export function NoTree({ report }: { report: Report }) {
	return (
		<>
			<p class="wait">There is no call tree for this selection and metric.</p>
			<Notes notes={report.sections[0]?.notes ?? report.notes} />
		</>
	);
}

/* --- merged ---------------------------------------------------------------------------------------------------------- */

function Merged({ report }: { report: Report }) {
	const tree = treeOf(report);
	if (!tree)
		return <NoTree report={report} />;
	return (
		<>
			<p class="lead">{lead(tree)}</p>
			<Tools />
			<Picture tree={tree} />
			<Notes notes={tree.notes} />
		</>
	);
}

/* --- callers and callees --------------------------------------------------------------------------------------------- */

/* One of the two trees. Each has its own zoom, which is not in the URL. */
function Half({ tree, title, upside }: { tree: Tree; title: string; upside: boolean }) {
	const { selection, dark } = useWorld(), words = selection.search;
	const [zoomed, zoom] = useState(0);
	const wanted = useMemo(() => matcher(words), [words]);
	useEffect(() => zoom(0), [tree]);
	return (
		<section aria-label={title} class="half" data-half={upside ? "callers" : "callees"}>
			<h2>{title}</h2>
			{viewed(selection).asTable ? <Twin tree={tree} words={words} label={title} />
				: <FlameCanvas tree={tree} look={{ dark, upside, wanted }} zoomed={zoomed} onZoom={zoom} label={title} onName={(focus) => go(selection, { focus, search: "" })} />}
		</section>
	);
}

function Sandwich({ report }: { report: Report }) {
	const { selection } = useWorld();
	const tree = treeOf(report), names = useMemo(() => (tree ? functionsOf(tree) : []), [tree]);
	const name = selection.focus || names[0] || "";
	const both = useMemo(() => (tree ? sandwich(tree, name) : null), [tree, name]);
	if (!tree)
		return <NoTree report={report} />;
	const whole = tree.nodes[0]!.total;
	return (
		<>
			<div class="tools">
				<label>function{" "}
					<input type="search" class="search" list="functions" value={name} onChange={(event) => event.currentTarget.value && go(selection, { focus: event.currentTarget.value })} />
				</label>
				<datalist id="functions">{names.slice(0, OFFERED).map((at) => <option value={at} />)}</datalist>
			</div>
			{both ? (
				<>
					<p class="lead" data-total={both.callees.nodes[0]!.total}>
						<code>{clean(name)}</code>: {figure(tree.unit, both.callees.nodes[0]!.total)} of {tree.value}, {figure("ratio", both.callees.nodes[0]!.total / whole)} of all, {figure(tree.unit, both.callees.nodes[0]!.self)} in the function itself.
					</p>
					<Tools />
					<Half tree={both.callers} title="Callers" upside />
					<Half tree={both.callees} title="Callees" upside={false} />
				</>
			) : <p class="wait">{clean(name)} is not in this call tree.</p>}
			<Notes notes={tree.notes} />
		</>
	);
}

/* --- in order of time ------------------------------------------------------------------------------------------------ */

const NONE = { stacks: null as Stacks | null, error: "" };

/* The samples of a thread in a time range. The answer to an earlier request is never shown for a new one. */
function useStacks(thread: string, from: string, to: string): typeof NONE {
	const { data, recording } = useWorld();
	const key = [thread, from, to].join(" "), [state, set] = useState({ ...NONE, key });
	useEffect(() => {
		let current = true;
		data.stacks(thread, from, to, SAMPLES).then((stacks) => current && set({ stacks, error: "", key }), (error: Error) => current && set({ stacks: null, error: error.message, key }));
		return () => {
			current = false;
		};
	}, [data, recording, key]);
	return state.key === key ? state : NONE;
}

/* If the picture ends before the requested time range, says so, and offers the next part. */
function Rest({ stacks }: { stacks: Stacks }) {
	const { selection } = useWorld(), last = stacks.time_ns[stacks.time_ns.length - 1];
	if (!stacks.omitted || last === undefined)
		return null;
	return (
		<p class="count">
			The first {figure("count", stacks.count - stacks.omitted)} of {figure("count", stacks.count)} stacks.{" "}
			<a href={link({ ...selection, from: String(last + 1), zoom: "" })}>Later samples</a>
		</p>
	);
}

function Chart() {
	const { selection, recording } = useWorld();
	const thread = selection.thread || String(recording.threads[0]?.id ?? 1);
	const { stacks, error } = useStacks(thread, selection.from, selection.to);
	const from = Number(selection.from) || 0;
	const until = stacks?.omitted ? stacks.time_ns[stacks.time_ns.length - 1]! : Number(selection.to) || recording.duration_ns;
	const drawn = useMemo(() => (stacks ? chart(stacks, from, until) : null), [stacks, from, until]);
	const laid = useMemo(() => drawn && {
		at: drawn.at,
		more: (i: number) => `from ${figure("ns", drawn.from + drawn.at.x[i]!)}, ${figure("ns", drawn.at.width[i]!)} long, ${figure("count", drawn.tree.nodes[i]!.count)} ${drawn.tree.nodes[i]!.count === 1 ? "stack" : "stacks"}`,
	}, [drawn]);
	if (error)
		return <p class="failed" role="alert">{clean(error)}</p>;
	if (!stacks || !drawn || !laid)
		return <p class="wait" role="status">Loading…</p>;
	const of = recording.threads.find((at) => String(at.id) === thread);
	return (
		<>
			<p class="lead" data-samples={stacks.count}>
				Thread {of ? `${clean(of.name)} (${of.tid})` : thread}: {figure("count", stacks.count)} stacks from {figure("ns", from)} to {figure("ns", until)}. Widths are CPU time; gaps are time without a CPU.
			</p>
			<Rest stacks={stacks} />
			<Tools />
			{stacks.time_ns.length ? <Picture tree={drawn.tree} laid={laid} /> : <p class="wait">The thread has no samples in this time.</p>}
			{stacks.beside_ns > 0 && <Notes notes={[{ text: `${figure("ns", stacks.beside_ns)} of CPU time have no sample and are not shown`, warning: false }]} />}
		</>
	);
}

/* --- the page ---------------------------------------------------------------------------------------------------------- */

function Weights() {
	const { selection, recording } = useWorld();
	const weights = (recording.weights ?? []).filter((weight) => weight.name !== "live" || selection.weigh === "live");
	const here = weights.find((weight) => weight.name === selection.weigh) ?? weights[0], heaps = recording.heaps ?? [];
	const choose = (name: string) => {
		const weight = weights.find((at) => at.name === name);
		go(selection, { weigh: name, at: "", zoom: "", heap: weight?.of_heap ? selection.heap : "" });
	};
	return (
		<>
			{weights.length > 1 && (
				<label>of{" "}
					<select value={here?.name} onChange={(event) => choose(event.currentTarget.value)}>
						{weights.map((weight) => <option value={weight.name}>{weight.title}</option>)}
					</select>
				</label>
			)}
			{here?.of_heap && heaps.length > 1 && (
				<label>heap{" "}
					<select value={selection.heap || heaps[0]} onChange={(event) => go(selection, { heap: event.currentTarget.value, zoom: "" })}>
						{heaps.map((heap) => <option value={heap}>{clean(heap)}</option>)}
					</select>
				</label>
			)}
		</>
	);
}

function Trees({ way }: { way: Way }) {
	const { selection } = useWorld();
	const answer = useReport(["calltree"], { ...selection, focus: "" }, MOST);
	return <Await answer={answer}>{(report) => (way === "sandwich" ? <Sandwich report={report} /> : <Merged report={report} />)}</Await>;
}

export function Flame() {
	const { selection, recording, data } = useWorld(), { way, asTable } = viewed(selection);
	const inTime = !data.inFile && recording.sections.includes("functions") && recording.threads.length > 0;
	const focus = (to: Way) => (to === "sandwich" ? selection.focus : "");
	return (
		<>
			<div class="title">
				<h1>Flame graph</h1>
				{way !== "chart" && !data.inFile && <Weights />}
				<div class="ways" role="group" aria-label="View">
					{WAYS.filter(([to]) => to !== "chart" || inTime).map(([to, title]) => (
						<button type="button" aria-pressed={way === to} onClick={() => go(selection, { view: written({ way: to, asTable }), zoom: "", focus: focus(to) })}>{title}</button>
					))}
				</div>
			</div>
			{way === "chart" ? <Chart /> : <Trees way={way} />}
		</>
	);
}
