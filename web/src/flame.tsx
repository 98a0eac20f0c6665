/* flame.tsx: the page `flame`: the call tree as a flame graph, or as the table that says the same. */
import { useMemo, useState } from "preact/hooks";
import { type Report, type Row, type Table, text, type Tree } from "./data";
import { clean, figure, matcher } from "./figure";
import { FlameCanvas } from "./flame_canvas";
import { layout } from "./flame_layout";
import { Await, Notes, useReport, useWorld } from "./parts";
import { Count, DataTable, Filter } from "./table";
import { go, refine } from "./selection";

/* What stacks can be weighed by, and a section that is there when that was recorded; the first of them is what a call tree has
 * when nothing is said (src/session/weigh.c). */
const WEIGHTS: [name: string, title: string, section: string][] = [
	["cpu", "CPU time", "functions"],
	["waiting", "waiting", "waits"],
	["locks", "waiting for locks", "locks"],
	["io", "I/O", "io"],
	["peak", "memory at the peak", "heap"],
	["allocated", "bytes allocated", "heap"],
	["allocations", "allocations", "heap"],
	["temporary", "temporary memory", "temporary"],
	["left", "memory left at the end", "heap"],
	["unreachable", "unreachable memory", "leaks"],
];
const MOST = 1000000;

/* The tree as a table: a row a frame, indented as deep as it stands. */
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

function Twin({ tree, words }: { tree: Tree; words: string }) {
	const rows = useMemo(() => twin(tree), [tree]);
	const deep = (row: Row) => Math.min(Number(row["level"]), 40);
	return (
		<>
			<DataTable table={rows} drawn={{
				filter: words, label: "The call tree as a table", most: 24,
				render: (row, column) => column.key === "frame" ? <span style={{ paddingLeft: `${deep(row) * 0.8}ch` }}>{clean(text(row, "frame"))}</span> : undefined,
			}} />
			<Count table={rows} filter={words} />
		</>
	);
}

function Picture({ report }: { report: Report }) {
	const { selection, dark } = useWorld();
	const [upside, turn] = useState(false);
	const [asTable, show] = useState(false);
	const words = selection.search;
	const wanted = useMemo(() => matcher(words), [words]);
	const section = report.sections[0];
	if (section?.kind !== "tree" || !section.nodes[0]?.total)
		return <>
			<p class="wait">There is no call tree of this.</p>
			<Notes notes={section?.notes ?? report.notes} />
		</>;
	return (
		<>
			<p class="lead">{section.value.replace(/^./, (first) => first.toUpperCase())}: {figure(section.unit, section.nodes[0].total)} in all, {figure("count", section.nodes.length - 1)} frames, colours by module.</p>
			<div class="tools">
				<Filter words={words} label="Search, a regular expression" onWords={(search) => refine(selection, { search })} />
				<label><input type="checkbox" checked={upside} disabled={asTable} onChange={() => turn(!upside)} /> root at the bottom</label>
				<label><input type="checkbox" checked={asTable} onChange={() => show(!asTable)} /> view as table</label>
			</div>
			{asTable ? <Twin tree={section} words={words} /> : <FlameCanvas tree={section} look={{ dark, upside, wanted }} />}
			<Notes notes={section.notes} />
		</>
	);
}

export function Flame() {
	const { selection, recording, data } = useWorld();
	const weights = WEIGHTS.filter(([, , section]) => recording.sections.includes(section));
	const answer = useReport(["calltree"], { ...selection, focus: "" }, MOST);
	return (
		<>
			<div class="title">
				<h1>Flame graph</h1>
				{!data.inFile && weights.length > 1 && (
					<label>of{" "}
						<select value={selection.weigh || weights[0]?.[0]} onChange={(event) => go(selection, { weigh: event.currentTarget.value })}>
							{weights.map(([name, title]) => <option value={name}>{title}</option>)}
						</select>
					</label>
				)}
			</div>
			<Await answer={answer}>{(report) => <Picture report={report} />}</Await>
		</>
	);
}
