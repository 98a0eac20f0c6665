/* zones_histogram.tsx: durations of the instances of one zone or span, as bars on a logarithmic scale with percentiles. A
 * selected bar lists the instances that it counts, each a link into the timeline. Bars are cells of the section
 * `zone-histogram`; instances are slices of the timeline. */
import { useEffect, useState } from "preact/hooks";
import { type Row, type Table, table, text, value } from "./data";
import { clean, figure, only } from "./figure";
import { Await, Notes, useReport, useWorld } from "./parts";
import { elsewhere, go, link } from "./selection";
import { DataTable } from "./table";
import type { Lanes, Slice } from "./tiles";

const BARS = 48, INSTANCES = 1000;
const number = (row: Row, key: string): number => Number(value(row, key) ?? 0);

/* --- the scale ---------------------------------------------------------------------------------------------------------- */

interface Scale {
	place: (ns: number) => number; /* in % of the width */
	ticks: number[];
}

/* The position of a duration. Durations below 1 ns, if any, have a bar of their own in front. */
function scaleOf(rows: Row[]): Scale {
	const zero = number(rows[0]!, "from_ns") === 0 ? 1 : 0, first = Math.max(1, number(rows[zero] ?? rows[0]!, "from_ns")), last = Math.max(first * 1.01, number(rows[rows.length - 1]!, "to_ns"));
	const room = zero ? 100 / rows.length : 0, wide = Math.log(last / first);
	const place = (ns: number) => (ns < 1 ? 0 : room + ((100 - room) * Math.log(Math.max(ns, first) / first)) / wide);
	const ticks: number[] = [];
	for (let power = Math.floor(Math.log10(first)); power <= Math.ceil(Math.log10(last)); power++)
		for (const step of last / first > 300 ? [1] : last / first > 8 ? [1, 2, 5] : [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8])
			if (step * 10 ** power >= first && step * 10 ** power <= last)
				ticks.push(step * 10 ** power);
	return { place, ticks };
}

/* --- the drawing ----------------------------------------------------------------------------------------------------------- */

const MARKS: [key: string, title: string][] = [["p50_ns", "p50"], ["p95_ns", "p95"], ["p99_ns", "p99"]];
const APART = 6; /* % of the width */

/* Positions of percentiles; if several are too close to distinguish, the last has all names. */
function marksOf(one: Row | undefined, scale: Scale): { at: number; title: string; label: string }[] {
	const there = MARKS.filter(([key]) => one && typeof value(one, key) === "number").map(([key, name]) =>
		({ at: scale.place(number(one!, key)), name, title: `${name} ${figure("ns", number(one!, key))}` }));
	let names: string[] = [];
	return there.map(({ at, name, title }, i) => {
		names.push(name);
		const next = there[i + 1], label = next && next.at - at < APART ? "" : names.join(", ");
		names = label ? [] : names;
		return { at, title, label };
	});
}

function barName(row: Row): string {
	const count = number(row, "count");
	return `${figure("count", count)} ${count === 1 ? "instance" : "instances"} of ${figure("ns", number(row, "from_ns"))} to ${figure("ns", number(row, "to_ns"))}, ${figure("ratio", number(row, "share"))} of all, ${figure("ratio", number(row, "total_share"))} of the time`;
}

function Bars({ bars, one, chosen, onPick }: { bars: Table; one: Row | undefined; chosen: string; onPick: (range: string) => void }) {
	const { rows } = bars, most = rows.reduce((sum, row) => Math.max(sum, number(row, "count")), 0), scale = scaleOf(rows);
	return (
		<div class="durations">
			<div class="durations-most" aria-hidden="true">{figure("count", most)}</div>
			<div class="durations-bars" role="group" aria-label={clean(bars.title)}>
				{rows.map((row) => {
					const from = scale.place(number(row, "from_ns")), to = scale.place(number(row, "to_ns")), range = rangeOf(row), count = number(row, "count");
					return count > 0 && (
						<button type="button" class="durations-bar" title={barName(row)} aria-label={barName(row)} aria-pressed={range === chosen} onClick={() => onPick(range === chosen ? "" : range)}
							style={{ left: `${from}%`, width: `${Math.max(0.2, to - from)}%` }}>
							<span style={{ height: `max(2px, ${(100 * count) / most}%)` }} />
						</button>
					);
				})}
				{marksOf(one, scale).map(({ at, title, label }) => <div class="durations-mark" style={{ left: `${at}%` }} title={title}>{label && <span>{label}</span>}</div>)}
			</div>
			<div class="durations-axis" aria-hidden="true">{scale.ticks.map((tick) => <span style={{ left: `${scale.place(tick)}%` }}>{figure("ns", tick)}</span>)}</div>
		</div>
	);
}

function Statistics({ one }: { one: Row }) {
	const told: [string, string][] = [["count", "ended"], ["total_ns", "total"], ["mean_ns", "mean"], ["std_ns", "std"], ["min_ns", "min"], ["p50_ns", "p50"], ["p95_ns", "p95"], ["p99_ns", "p99"], ["max_ns", "max"]];
	return (
		<dl class="figures">
			{told.map(([key, title]) => (
				<div data-figure={key}>
					<dt>{title}</dt>
					<dd>{typeof value(one, key) === "number" ? figure(key === "count" ? "count" : "ns", number(one, key)) : "–"}</dd>
				</div>
			))}
		</dl>
	);
}

/* --- the instances of a bar ------------------------------------------------------------------------------------------------ */

/* "FROM-TO" in ns, as in the hash; TO is exclusive. */
const rangeOf = (row: Row) => `${number(row, "from_ns")}-${number(row, "to_ns")}`;

function parsed(view: string): [from: number, to: number] | null {
	const [from, to] = view.split("-").map(Number);
	return from !== undefined && to !== undefined && from >= 0 && to > from ? [from, to] : null;
}

interface Instances {
	lanes: Lanes;
	slices: Slice[];
	count: number | null;
}

/* Slices with this name in tracks of zones and spans only: a state or a wait can have the same name. */
function useInstances(name: string, range: [number, number]): { found: Instances | null; error: string } {
	const { data, selection } = useWorld();
	const [state, set] = useState<{ found: Instances | null; error: string }>({ found: null, error: "" });
	const { from, to } = selection, key = [name, range.join(), from, to].join(" ");
	useEffect(() => {
		let current = true;
		set({ found: null, error: "" });
		data.lanes().then(async (lanes) => {
			const names = lanes.names.flatMap((at, i) => (at.name === name ? [i] : []));
			const part = { ...(from ? { from: Number(from) } : {}), ...(to ? { to: Number(to) } : {}) };
			const answer = names.length ? await data.find({ names, shortest: range[0], longest: range[1] - 1, limit: INSTANCES, ...part }) : { count: 0, slices: [] };
			const isMine = (slice: Slice) => ["zones", "spans"].includes(lanes.lanes[slice.lane]?.kind ?? "") && slice.start >= Number(from || 0) && (!to || slice.start < Number(to));
			const slices = answer.slices.filter(isMine); /* bars count instances that start in it */
			return { lanes, slices, count: slices.length === answer.slices.length ? answer.count : slices.length };
		}).then((found) => current && set({ found, error: "" }), (error: Error) => current && set({ found: null, error: error.message }));
		return () => {
			current = false;
		};
	}, [data, key]);
	return state;
}

function InstanceTable({ found, name, counted }: { found: Instances; name: string; counted: number }) {
	const { data, selection, recording } = useWorld(), duration = recording.duration_ns;
	const thread = (id: number) => recording.threads.find((at) => at.id === id);
	const chosen = found.slices.filter((slice) => !selection.thread || String(found.lanes.lanes[slice.lane]?.thread) === selection.thread);
	const thinned = data.inFile && found.lanes.thinned_ns ? found.lanes.thinned_ns : 0;
	const fewer = thinned ? <>; this file omits slices shorter than {figure("ns", thinned)}: <code>sonde view {clean(recording.file)}</code> lists them</> : "; zones deeper than the timeline shows are not among them";
	const rows: Row[] = chosen.map((slice) => {
		const of = thread(found.lanes.lanes[slice.lane]?.thread ?? 0);
		return { start_ns: slice.start, duration_ns: slice.length, thread: of ? `${of.name} (${of.tid})` : "", slice: [slice.lane, slice.start, slice.length, slice.name, 1].join(":") };
	});
	const to = (row: Row) => {
		const start = number(row, "start_ns"), wide = Math.max(number(row, "duration_ns") * 4, 100);
		return elsewhere(selection, "timeline", { slice: text(row, "slice"), view: `${Math.max(0, Math.floor(start - wide / 2))}-${Math.ceil(Math.min(duration, start + wide))}`, search: only(name) });
	};
	const shown: Table = {
		id: "instances", title: "Instances", kind: "table", notes: [], omitted: Math.max(0, (found.count ?? 0) - found.slices.length), rows,
		columns: [
			{ key: "start_ns", title: "start", unit: "ns", basis: "measured" }, { key: "duration_ns", title: "duration", unit: "ns", basis: "measured" },
			{ key: "thread", title: "thread", unit: "text", basis: "measured" },
		],
	};
	return (
		<>
			<p class="count" role="status" data-instances={rows.length}>
				{figure("count", rows.length)} {rows.length === 1 ? "instance" : "instances"}
				{rows.length + shown.omitted < counted && !selection.thread ? <> of {figure("count", counted)}{fewer}</> : ""}
				{shown.omitted > 0 ? `, the earliest of ${figure("count", found.count ?? 0)}` : ""}{rows.length > 0 ? ", each with a link to its place on the timeline." : "."}
			</p>
			{rows.length > 0 && <DataTable table={shown} drawn={{ most: 10, label: `Instances of ${clean(name)}`, render: (row, column) => column.key === "start_ns" ? <a href={to(row)}>{figure("ns", number(row, "start_ns"))}</a> : undefined }} />}
		</>
	);
}

function InstancesOf({ name, range, counted }: { name: string; range: [number, number]; counted: number }) {
	const { found, error } = useInstances(name, range), { selection } = useWorld();
	return (
		<section aria-labelledby="instances">
			<h3 id="instances">Of <code>{clean(name)}</code>: {figure("ns", range[0])} to {figure("ns", range[1])} <a href={link({ ...selection, view: "" })} class="chip">close ×</a></h3>
			{error ? <p class="failed" role="alert">{clean(error)}</p> : found ? <InstanceTable found={found} name={name} counted={counted} /> : <p class="wait" role="status">Loading…</p>}
		</section>
	);
}

/* --- together --------------------------------------------------------------------------------------------------------------- */

export function ZoneHistogram() {
	const { selection, data, recording } = useWorld();
	const [asTable, show] = useState(false);
	/* The limit sets the number of bars. In a file their number is fixed: a limit would keep only the first bars,
	 * those of the shortest instances. */
	const answer = useReport(["zone-histogram"], { ...selection, weigh: "" }, data.inFile ? undefined : BARS);
	const range = parsed(selection.view);
	return (
		<section aria-labelledby="durations">
			<Await answer={answer}>
				{(report) => {
					const bars = table(report, "zone-histogram"), durations = table(report, "zone-durations"), one = durations?.rows[0];
					const name = selection.focus || (one ? text(one, "zone") : "");
					if (!one && !selection.focus)
						return null; /* there is no zone: the table above says so */
					if (!one && (selection.thread || selection.from || selection.to)) /* not an error */
						return <p class="wait" data-fact="none-of-it">No <code>{clean(name)}</code> ended in the selected threads and time.</p>;
					return (
						<>
							<h2 id="durations">Durations of <code>{clean(name)}</code></h2>
							{one && <Statistics one={one} />}
							{bars?.rows.length ? (
								<>
									<div class="tools"><label><input type="checkbox" checked={asTable} onChange={() => show(!asTable)} /> view as table</label></div>
									{asTable ? <DataTable table={bars} drawn={{ label: `Durations of ${clean(name)}` }} />
										: <Bars bars={bars} one={one} chosen={selection.view} onPick={(view) => go(selection, { view, focus: data.inFile ? selection.focus : name })} />}
								</>
							) : null}
							<Notes notes={[...(durations?.notes ?? []), ...(bars?.notes ?? [])]} />
							{range && one && (!recording.timeline
								? <p class="wait" data-fact="no-instances">{data.inFile ? <>This file has no timeline to list instances from: <code>sonde view {clean(recording.file)}</code> lists the instances of a bar.</> : "Instances are listed from the timeline, and this recording has none."}</p>
								: <InstancesOf name={name} range={range} counted={bars?.rows.filter((row) => rangeOf(row) === selection.view).reduce((sum, row) => sum + number(row, "count"), 0) ?? 0} />)}
						</>
					);
				}}
			</Await>
		</section>
	);
}
