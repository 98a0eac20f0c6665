/* compare_flame.tsx: the page `flame-difference`: the merged call trees of two recordings, from the section `diff-calltree`.
 * Orange frames took more time in B, blue ones less; the colours stay distinct under colour blindness. Changes within
 * their interval may be chance and are grey. "Only" views show only paths that occur in one run, and their callers. */
import { useMemo, useState } from "preact/hooks";
import { type Node, type Row, type Table, table, text, type Tree, value } from "./data";
import { useDiff } from "./compare";
import { clean, figure, matcher } from "./figure";
import { FlameCanvas } from "./flame_canvas";
import { layout } from "./flame_layout";
import { Await, Notes, useWorld } from "./parts";
import { elsewhere, go, NOTHING, refine } from "./selection";
import { Count, DataTable, Filter } from "./table";

const MOST = 1000000;
const VIEWS: [view: string, title: string][] = [["", "all, as wide as in B"], ["a", "all, as wide as in A"], ["only-b", "only in B"], ["only-a", "only in A"]];

const number = (row: Row, key: string) => Number(value(row, key) ?? 0);

/* --- which frames, and how wide ------------------------------------------------------------------------------------- */

/* The parent row of each row; −1 for the root. Rows are in depth-first order. */
function parents(rows: Row[]): Int32Array {
	const found = new Int32Array(rows.length).fill(-1), path: number[] = [];
	rows.forEach((row, i) => {
		const level = number(row, "level");
		found[i] = level > 0 ? path[level - 1] ?? 0 : -1;
		path[level] = i;
	});
	return found;
}

interface Picture {
	tree: Tree;
	row: number[]; /* of each node of the tree */
	only: boolean[]; /* for each row: it occurs in only one of the runs */
}

/* The frames that occur in only one run, with everything below them. `width` is a frame's time in such frames: in
 * itself if it is one of them, else in those below it. */
function alone(rows: Row[], above: Int32Array, mine: string, other: string): { only: boolean[]; width: Float64Array } {
	const only = rows.map((row, i) => i > 0 && number(row, mine) > 0 && number(row, other) === 0), width = new Float64Array(rows.length);
	for (let i = rows.length - 1; i > 0; i--) {
		if (only[i])
			width[i] = number(rows[i]!, mine);
		if (width[i]! > 0 && !only[above[i]!])
			width[above[i]!]! += width[i]!;
	}
	return { only, width };
}

function picture(section: Table, view: string): Picture {
	const side = view === "a" || view === "only-a" ? "baseline" : "candidate", other = side === "baseline" ? "candidate" : "baseline";
	const { rows } = section, above = parents(rows), mine = `${side}_ns`;
	const { only, width } = view.startsWith("only") ? alone(rows, above, mine, `${other}_ns`)
		: { only: rows.map(() => false), width: Float64Array.from(rows, (row) => number(row, mine)) };
	const at = new Int32Array(rows.length).fill(-1), row: number[] = [], nodes: Node[] = [];
	rows.forEach((cells, i) => {
		if (i > 0 && (!(width[i]! > 0) || at[above[i]!]! < 0))
			return;
		at[i] = nodes.length;
		row.push(i);
		nodes.push({
			parent: i > 0 ? at[above[i]!]! : null, name: i > 0 ? text(cells, "function") : "", module: text(cells, "module"), file: "", line: 0,
			self: view.startsWith("only") && !only[i] ? 0 : number(cells, `${side}_self_ns`), total: width[i]!, count: 0,
		});
	});
	return { row, only, tree: { id: section.id, title: section.title, kind: "tree", notes: section.notes, value: "CPU time", unit: "ns", nodes } };
}

/* --- colours --------------------------------------------------------------------------------------------------------- */

const SAME = { light: [222, 224, 226], dark: [52, 57, 64] }, MORE = { light: [247, 160, 72], dark: [158, 84, 8] }, LESS = { light: [118, 172, 240], dark: [36, 96, 172] };

function mixed(from: number[], to: number[], part: number): string {
	return `rgb(${from.map((byte, i) => Math.round(byte + ((to[i] ?? byte) - byte) * part)).join(",")})`;
}

/* How far the change of a frame exceeds its interval; 0 within the interval. */
function changeOf(row: Row, key: string): number {
	const by = number(row, key), half = row.plus_minus?.[key] ?? 0;
	return Math.abs(by) <= half ? 0 : by;
}

/* `leads`: only frames of one run are coloured; frames that lead to them are grey. */
function fillsOf({ tree, row, only }: Picture, rows: Row[], key: string, dark: boolean, leads: boolean): string[] {
	const theme = dark ? "dark" : "light";
	const most = rows.reduce((sum, cells, i) => Math.max(sum, i > 0 ? Math.abs(changeOf(cells, key)) : 0), 0);
	return tree.nodes.map((_, i) => {
		const by = i > 0 && (!leads || only[row[i]!]) ? changeOf(rows[row[i]!]!, key) : 0;
		return by === 0 || most === 0 ? mixed(SAME[theme], SAME[theme], 0) : mixed(SAME[theme], (by > 0 ? MORE : LESS)[theme], 0.3 + 0.7 * Math.sqrt(Math.abs(by) / most));
	});
}

/* "in A 600 ms, in B 300 ms: -300 ±60 ms" */
function told(row: Row, relative: boolean): string {
	const key = relative ? "share_change" : "change_s", half = row.plus_minus?.[key] ?? 0;
	const of = (side: string) => relative ? figure("ratio", number(row, `${side}_share`)) : figure("ns", number(row, `${side}_ns`));
	const by = number(row, key), words = relative ? figure("ratio", by, half) : figure("ns", by * 1e9, half * 1e9);
	return `in A ${of("baseline")}, in B ${of("candidate")}: ${by > 0 ? "+" : ""}${words}${changeOf(row, key) === 0 ? ", not significant" : ""}`;
}

/* --- the page ---------------------------------------------------------------------------------------------------------- */

function Twin({ section, words }: { section: Table; words: string }) {
	const deep = (row: Row) => Math.min(number(row, "level"), 40);
	return (
		<>
			<DataTable table={section} drawn={{
				filter: words, label: "Both call trees as a table", most: 24,
				render: (row, column) => column.key === "function" ? <span style={{ paddingLeft: `${deep(row) * 0.8}ch` }}>{clean(text(row, "function"))}</span> : undefined,
			}} />
			<Count table={section} filter={words} />
		</>
	);
}

function Drawing({ section, view, relative }: { section: Table; view: string; relative: boolean }) {
	const { selection, dark } = useWorld();
	const [upside, turn] = useState(false);
	const [asTable, show] = useState(false);
	const [zoomed, zoom] = useState(0);
	const made = useMemo(() => picture(section, view), [section, view]);
	const fills = useMemo(() => fillsOf(made, section.rows, relative ? "share_change" : "change_s", dark, view.startsWith("only")), [made, relative, dark, view]);
	const laid = useMemo(() => ({ at: layout(made.tree), more: (i: number) => told(section.rows[made.row[i]!]!, relative) }), [made, relative]);
	const words = selection.search, wanted = useMemo(() => matcher(words), [words]);
	const count = made.only.filter(Boolean).length, isOnly = view.startsWith("only");
	return (
		<>
			{isOnly && <p class="lead" data-only={count}>{figure("count", count)} {count === 1 ? "frame is" : "frames are"} only in {view === "only-a" ? "A" : "B"}, {figure("ns", made.tree.nodes[0]!.total)} in all.</p>}
			<div class="tools">
				<Filter words={words} label="Search, a regular expression" onWords={(search) => refine(selection, { search })} />
				<label><input type="checkbox" checked={upside} disabled={asTable} onChange={() => turn(!upside)} /> root at the bottom</label>
				<label><input type="checkbox" checked={asTable} onChange={() => show(!asTable)} /> view as table</label>
			</div>
			<p class="count pair-key"><span class="swatch less" /> less in B <span class="swatch same" /> within its 95 % interval <span class="swatch more" /> more in B</p>
			{asTable ? <Twin section={section} words={words} />
				: made.tree.nodes[0]!.total > 0 ? <FlameCanvas tree={made.tree} look={{ dark, upside, wanted }} zoomed={zoomed} onZoom={zoom} laid={laid} fills={fills} label="Difference of two flame graphs" />
					: <p class="wait">No frames occur only in this run.</p>}
			<Notes notes={section.notes} />
			{section.omitted > 0 && <p class="count">{figure("count", section.omitted)} smaller frames are left out.</p>}
		</>
	);
}

export function FlameDifference() {
	const { selection, runs } = useWorld();
	const answer = useDiff(["diff-calltree"], MOST);
	const words = selection.view.split("."), relative = words.includes("relative"), view = VIEWS.find(([name]) => name && words.includes(name))?.[0] ?? "";
	const set = (next: string, share: boolean) => go(selection, { view: [share ? "relative" : "", next].filter(Boolean).join(".") });
	return (
		<>
			<div class="title">
				<h1>Flame difference</h1>
				<label>show{" "}
					<select value={view} onChange={(event) => set(event.currentTarget.value, relative)}>
						{VIEWS.map(([name, title]) => <option value={name}>{title}</option>)}
					</select>
				</label>
				<label><input type="checkbox" checked={relative} onChange={() => set(view, !relative)} /> relative: changes of shares, not of time</label>
			</div>
			{runs.length < 2 ? <p class="wait">Only one recording is open: <code>sonde view A B</code> shows two.</p> : (
				<Await answer={answer}>
					{(report) => {
						const section = table(report, "diff-calltree");
						return section?.rows.length ? <Drawing key={view} section={section} view={view} relative={relative} />
							: <p class="wait">The runs have no CPU time in common. <a href={elsewhere(NOTHING, "compare", { run: selection.run })}>Compare</a></p>;
					}}
				</Await>
			)}
		</>
	);
}
