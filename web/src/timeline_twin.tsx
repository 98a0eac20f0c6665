/* timeline_twin.tsx: the timeline as tables: the longest slices of the visible range, track by track, and its curves; and the
 * dialog that lists the keys. */
import { useEffect, useRef, useState } from "preact/hooks";
import { type Row as TableRow, type Table, value } from "./data";
import { clean, figure } from "./figure";
import { useWorld } from "./parts";
import { DataTable } from "./table";
import type { Bins, Lanes } from "./tiles";
import { sayReading } from "./timeline_canvas";
import { type People, type Row } from "./timeline_layout";
import { moment, type Window } from "./timeline_view";

const ROWS_MOST = 1000, LANES_MOST = 60, WIDTH = 1000, CURVE_WIDTH = 100;

/* `wanted`: bits by name, null = all. */
function rowsOf(bins: Map<number, Bins>, lanes: Lanes, people: People, view: Window, wanted: Uint8Array | null): { rows: TableRow[]; omitted: number } {
	const all: { lane: number; start: number; length: number; name: number; many: number }[] = [];
	for (const [lane, of] of bins)
		for (let i = 0; of.form !== "curve" && i < of.start.length; i++) {
			const length = of.form === "slices" ? of.length[i]! : 0;
			if (of.start[i]! < view.to && of.start[i]! + length >= view.from && (!wanted || wanted[of.name[i]!]))
				all.push({ lane, start: of.start[i]!, length, name: of.name[i]!, many: of.many[i]! });
		}
	const longest = all.length > ROWS_MOST ? [...all].sort((a, b) => b.length - a.length).slice(0, ROWS_MOST) : all;
	longest.sort((a, b) => a.lane - b.lane || a.start - b.start);
	const rows = longest.map((at) => ({
		lane: lanes.lanes[at.lane] ? people.lane(lanes.lanes[at.lane]!) : "", name: lanes.names[at.name]?.name ?? "", start: at.start, length: at.length, many: at.many,
	}));
	return { rows, omitted: all.length - rows.length };
}

/* Values of curves, as shown under the pointer in the picture. */
function readingsOf(bins: Map<number, Bins>, lanes: Lanes, people: People, view: Window): TableRow[] {
	const rows: TableRow[] = [];
	for (const [lane, of] of bins)
		for (let i = 0; of.form === "curve" && i < of.start.length; i++)
			if (of.start[i]! < view.to && of.start[i]! + of.length[i]! > view.from)
				rows.push({
					start: of.start[i]!, length: of.length[i]!, reading: sayReading(lanes, { lane, time: of.start[i]!, least: of.least[i]!, most: of.most[i]! }),
					lane: lanes.lanes[lane] ? people.lane(lanes.lanes[lane]!) : "",
				});
	return rows;
}

function Curves({ lanes, people, rows, view }: { lanes: Lanes; people: People; rows: Row[]; view: Window }) {
	const { data } = useWorld(), [table, set] = useState<Table | null>(null);
	const every = rows.flatMap((row) => (row.lane?.form === "curve" ? [row.lane.id] : [])), asked = every.slice(0, LANES_MOST), key = `${asked.join()} ${view.from} ${view.to}`;
	useEffect(() => {
		let current = true;
		const from = Math.floor(view.from), to = Math.max(from + 1, Math.ceil(view.to)), column = (key: string, title: string, unit: "text" | "ns") => ({ key, title, unit, basis: "measured" as const });
		if (asked.length)
			data.tiles({ lanes: asked, from, to, width: CURVE_WIDTH, made: lanes.made }).then((bins) => current && set({
				id: "curves", title: "Curves of the window", kind: "table", notes: [], omitted: 0, rows: readingsOf(bins, lanes, people, view),
				columns: [column("start", "start", "ns"), column("length", "for", "ns"), column("reading", "least to most", "text"), column("lane", "lane", "text")],
			}), () => undefined); /* the error is shown with the slices */
		return () => {
			current = false;
		};
	}, [data, key]);
	return table && asked.length > 0 ? (
		<>
			<h2>Curves</h2>
			<DataTable table={table} drawn={{ label: table.title, most: 12 }} />
			{every.length > asked.length && <p class="count">Only the first {asked.length} of {figure("count", every.length)} curves are shown: fold those that you do not need.</p>}
		</>
	) : null;
}

export function Twin({ lanes, people, rows, view, wanted }: { lanes: Lanes; people: People; rows: Row[]; view: Window; wanted: Uint8Array | null }) {
	const { data } = useWorld();
	const [state, set] = useState<{ table: Table | null; error: string }>({ table: null, error: "" });
	const every = rows.flatMap((row) => (row.lane && row.lane.form !== "curve" ? [row.lane.id] : []));
	const asked = every.slice(0, LANES_MOST), key = `${asked.join()} ${view.from} ${view.to}`;
	useEffect(() => {
		let current = true;
		const from = Math.floor(view.from), to = Math.max(from + 1, Math.ceil(view.to));
		const done = (bins: Map<number, Bins>) => {
			const { rows, omitted } = rowsOf(bins, lanes, people, view, wanted);
			const column = (key: string, title: string, unit: "text" | "ns" | "count") => ({ key, title, unit, basis: "measured" as const });
			set({ error: "", table: {
				id: "timeline", title: "Slices of the window", kind: "table", notes: [], omitted, rows,
				columns: [column("start", "start", "ns"), column("length", "duration", "ns"), column("many", "slices", "count"), column("name", "name", "text"), column("lane", "lane", "text")],
			} });
		};
		if (asked.length)
			data.tiles({ lanes: asked, from, to, width: WIDTH, made: lanes.made }).then((bins) => current && done(bins), (reason: Error) => current && set({ table: null, error: reason.message }));
		else
			done(new Map());
		return () => {
			current = false;
		};
	}, [data, key, wanted]);
	if (state.error)
		return <p class="failed" role="alert">{clean(state.error)}</p>;
	if (!state.table)
		return <p class="wait" role="status">Loading…</p>;
	const step = (view.to - view.from) / WIDTH;
	return (
		<>
			<DataTable table={state.table} drawn={{
				label: "Slices of the window", most: 20,
				render: (row, column) => {
					const cell = value(row, column.key);
					return column.key === "start" && typeof cell === "number" ? <>{moment(cell, step, view.to)}</> : undefined;
				},
			}} />
			<p class="count" role="status">
				{figure("count", state.table.rows.length)} rows, one for each slice, or group of slices too close to tell apart at this zoom
				{state.table.omitted > 0 && `; ${figure("count", state.table.omitted)} shorter ones are not shown`}
				{every.length > asked.length && `; only the first ${asked.length} of ${figure("count", every.length)} tracks: fold those that you do not need`}.
			</p>
			{!wanted && <Curves lanes={lanes} people={people} rows={rows} view={view} />}
		</>
	);
}

const KEYS: [keys: string[], does: string][] = [
	[["W", "S"], "zoom in and out"],
	[["A", "D"], "move left and right"],
	[["←", "→"], "previous, next slice (in the picture)"],
	[["↑", "↓"], "slice in the track above, below"],
	[["F"], "fit the selected slice or range; again: everything"],
	[["/"], "search names, a regular expression"],
	[["Enter", "Shift + Enter"], "in the search: next, previous slice"],
	[["Esc"], "deselect the slice, then the range"],
	[["?"], "these keys"],
	[["wheel"], "scroll through the tracks"],
	[["Ctrl + wheel"], "zoom at the pointer"],
	[["Shift + wheel", "sideways"], "move along the time"],
	[["drag"], "select a time range for all pages"],
	[["Shift + drag", "middle drag"], "move along the time"],
	[["click"], "details of a slice"],
];

export function Help({ close }: { close: () => void }) {
	const dialog = useRef<HTMLDialogElement>(null);
	useEffect(() => dialog.current?.showModal(), []);
	return (
		<dialog ref={dialog} class="keys" aria-labelledby="keys" onClose={close}>
			<h2 id="keys">Keys of the timeline</h2>
			<dl>{KEYS.map(([keys, does]) => <><dt>{keys.map((key, i) => <>{i > 0 && " "}<kbd>{key}</kbd></>)}</dt><dd>{does}</dd></>)}</dl>
			<p><button type="button" onClick={() => dialog.current?.close()}>Close</button></p>
		</dialog>
	);
}
