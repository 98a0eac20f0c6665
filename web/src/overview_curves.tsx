/* overview_curves.tsx: resource use (CPU, memory, I/O) of a process or the system over time. The curves are polled
 * tracks of the timeline (docs/UI.md); each has a table of the same values. Nothing is added up: one process is
 * selected. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { CurveView, type Curve, type Point } from "./curves";
import type { Recording, Row, Table } from "./data";
import { clean, type Unit } from "./figure";
import { useWorld } from "./parts";
import { DataTable } from "./table";
import type { Bins, Lane, Lanes } from "./tiles";

/* The titles of src/format/metrics.def that are shown, in this order; those of disks and networks follow the object's
 * name. */
const WANTED = [
	"CPU time of user code", "CPU time in the kernel", "resident memory", "read by system calls, from anywhere",
	"written by system calls, to anywhere", "read from storage", "written to storage",
	"CPU time waiting for a disk", "available without swapping", "GPU memory used", "share of multiprocessors with work",
	"tensor cores were busy", "read from the disk", "written to the disk",
	"received by the interface", "sent by the interface",
];
const WIDTH = 300, MOST = 16;

/* How the unit of a track is shown: time per second (s/s) is a share of one CPU. */
const UNITS: Record<string, [unit: Unit, rate: string]> = { "s/s": ["ratio", ""], B: ["bytes", ""], "B/s": ["bytes", "/s"] };

function wantedOf(lanes: Lane[], process: number, titles: string[]): Lane[] {
	const rank = (lane: Lane) => titles.indexOf(lane.title.slice(lane.title.lastIndexOf(": ") + 1).trim());
	return lanes.filter((lane) => lane.kind === "series" && lane.process === process && !lane.thread && lane.most > 0 && lane.unit in UNITS && rank(lane) >= 0)
		.sort((a, b) => rank(a) - rank(b)).slice(0, MOST);
}

/* The bins of a track as a curve, with gaps where values are unknown. */
function curveOf(lane: Lane, bins: Bins | undefined, from: number, to: number): Curve | null {
	if (bins?.form !== "curve" || !bins.start.length)
		return null;
	const points: Point[] = [];
	let end = from;
	bins.start.forEach((start, i) => {
		if (start > end + 1)
			points.push({ from: end, most: null, end: null });
		points.push({ from: start, most: bins.most[i]!, end: null });
		end = start + bins.length[i]!;
	});
	if (end < to)
		points.push({ from: end, most: null, end: null });
	const [unit, rate] = UNITS[lane.unit]!;
	return { title: clean(lane.title), unit, rate, points, from, to };
}

/* The bins as a table: consecutive bins with equal values are one row. */
function tableOf(lane: Lane, bins: Bins): Table {
	const rows: Row[] = [];
	for (let i = 0; bins.form === "curve" && i < bins.start.length; i++) {
		const last = rows[rows.length - 1], least = bins.least[i]!, most = bins.most[i]!;
		if (last && last["to"] === bins.start[i] && last["least"] === least && last["most"] === most)
			last["to"] = bins.start[i]! + bins.length[i]!;
		else
			rows.push({ from: bins.start[i]!, to: bins.start[i]! + bins.length[i]!, least, most });
	}
	const [unit, rate] = UNITS[lane.unit]!, per = rate ? " a second" : "";
	return {
		id: `lane-${lane.id}`, title: lane.title, kind: "table", notes: [], omitted: 0, rows,
		columns: [
			{ key: "from", title: "from", unit: "ns", basis: "measured" }, { key: "to", title: "to", unit: "ns", basis: "measured" },
			{ key: "least", title: "least" + per, unit, basis: "measured" }, { key: "most", title: "most" + per, unit, basis: "measured" },
		],
	};
}

/* The process whose threads have the most samples; without samples, the first process. */
function busiest(lanes: Lane[]): number {
	const sums = new Map<number, number>();
	for (const lane of lanes)
		if (lane.process && (lane.kind === "cpu" || lane.kind === "series"))
			sums.set(lane.process, (sums.get(lane.process) ?? 0) + (lane.kind === "cpu" ? lane.count : 0));
	return [...sums].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0]?.[0] ?? 0;
}

function nameOf(recording: Recording, process: number): string {
	const found = recording.processes.find((at) => at.id === process);
	return process === 0 ? "the whole machine" : found ? `${clean(found.name)} (${found.pid})` : `process ${process}`;
}

function One({ lane, bins, from, to }: { lane: Lane; bins: Bins; from: number; to: number }) {
	const curve = useMemo(() => curveOf(lane, bins, from, to), [lane, bins, from, to]), twin = useMemo(() => tableOf(lane, bins), [lane, bins]);
	return curve && (
		<div data-lane={lane.id}>
			<h3>{curve.title}</h3>
			<CurveView curve={curve} height={110} />
			<details class="twin">
				<summary>view as table</summary>
				<DataTable table={twin} drawn={{ most: 6, label: curve.title }} />
			</details>
		</div>
	);
}

interface Asked {
	titles?: string[]; /* titles to show, in this order */
	heading?: string;
}

function Drawn({ lanes, titles = WANTED, heading = "Over time" }: Asked & { lanes: Lanes }) {
	const { data, recording, selection } = useWorld();
	const processes = useMemo(() => [...new Set(lanes.lanes.filter((lane) => wantedOf(lanes.lanes, lane.process, titles).length > 0).map((lane) => lane.process))], [lanes]);
	const [chosen, choose] = useState(-1);
	const process = chosen >= 0 ? chosen : busiest(lanes.lanes.filter((lane) => processes.includes(lane.process)));
	const shown = useMemo(() => wantedOf(lanes.lanes, process, titles), [lanes, process]);
	const [tiles, set] = useState<Map<number, Bins> | null>(null);
	const from = Number(selection.from) || 0, to = Number(selection.to) || recording.duration_ns;
	useEffect(() => {
		let current = true;
		if (shown.length)
			data.tiles({ lanes: shown.map((lane) => lane.id), from, to, width: WIDTH, made: lanes.made }).then((found) => current && set(found), () => current && set(null));
		return () => {
			current = false;
		};
	}, [data, recording, shown, from, to]);
	if (!processes.length)
		return null;
	return (
		<section aria-labelledby="over-time">
			<div class="title">
				<h2 id="over-time">{heading}</h2>
				{processes.length > 1 && (
					<label>of{" "}
						<select value={process} onChange={(event) => choose(Number(event.currentTarget.value))}>
							{processes.map((at) => <option value={at}>{nameOf(recording, at)}</option>)}
						</select>
					</label>
				)}
			</div>
			<div class="curves">
				{shown.map((lane) => tiles?.get(lane.id) && <One key={lane.id} lane={lane} bins={tiles.get(lane.id)!} from={from} to={to} />)}
			</div>
			<p class="count">Peak readings of each interval; CPU time in CPUs. Gaps mean no data.</p>
		</section>
	);
}

export function OverTime(asked: Asked) {
	const { data, recording } = useWorld();
	const [lanes, set] = useState<Lanes | null>(null);
	useEffect(() => {
		let current = true;
		if (recording.timeline)
			data.lanes().then((found) => current && set(found), () => undefined); /* the timeline's page gives the reason */
		return () => {
			current = false;
		};
	}, [data, recording]);
	return lanes && <Drawn lanes={lanes} {...asked} />;
}
