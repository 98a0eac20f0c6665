/* timeline_layout.ts: the rows of the timeline: processes and, below each, its tracks by thread. Rows have fixed heights and
 * their positions are computed once, so that only visible rows are processed. */
import type { Recording } from "./data";
import { clean } from "./figure";
import type { Kind, Lane, Lanes } from "./tiles";

export interface Row {
	top: number;
	height: number;
	lane: Lane | null; /* null: the header of a process, of its curves, or of a thread */
	head: string; /* name of the group that the row collapses; "" = none */
	key: string; /* of the group that the header collapses */
	folded: boolean;
	title: string; /* of the track */
}

export const HEIGHTS: Record<Kind, number> = {
	zones: 18, spans: 18, iterations: 18, path: 18, states: 14, waits: 16, cpu: 28, series: 34, heap: 34, counters: 34, instants: 16, device: 18,
};
const PROCESS = 24, SMALL = 22; /* curves of a thread */

const TITLES: Record<Kind, string> = {
	zones: "zones", spans: "spans", iterations: "iterations", path: "critical path", states: "states", waits: "waits", cpu: "CPU",
	series: "", heap: "heap", counters: "", instants: "instants", device: "device",
};

/* The title of a track: its own title, or the title of its kind. */
export function titleOf(lane: Lane): string {
	return clean(lane.title || TITLES[lane.kind]) + (lane.depth > 0 && !lane.title ? ` ${lane.depth}` : "");
}

export class People {
	private threads: Map<number, string>;
	private processes: Map<number, string>;
	private tids: Map<number, number>;
	constructor(recording: Recording) {
		this.threads = new Map(recording.threads.map((at) => [at.id, `${clean(at.name) || "thread"} (${at.tid})`]));
		this.tids = new Map(recording.threads.map((at) => [at.id, at.tid]));
		this.processes = new Map(recording.processes.map((at) => [at.id, `${clean(at.name) || "process"} (${at.pid})`]));
	}
	/* The thread's number; 0 if `id` is no thread. */
	tid(id: number): number {
		return this.tids.get(id) ?? 0;
	}
	thread(id: number): string {
		return this.threads.get(id) ?? `thread ${id}`;
	}
	process(id: number): string {
		return id ? this.processes.get(id) ?? `process ${id}` : "machine";
	}
	/* "worker (12): zones 1" */
	lane(lane: Lane): string {
		return (lane.thread ? this.thread(lane.thread) : this.process(lane.process)) + ": " + titleOf(lane);
	}
}

/* Tracks from top to bottom: polled tracks of a process or a thread come last. */
/* Threads of a process are sorted by number, so that users find them. */
function ordered(lanes: Lane[], people: People): Lane[] {
	const rank = (lane: Lane) => (lane.kind === "path" ? 0 : lane.kind !== "series" ? 1 : 2);
	const process = new Map<number, number>(), thread = new Map<string, number>();
	lanes.forEach((lane, i) => {
		if (lane.kind === "path")
			return;
		process.set(lane.process, process.get(lane.process) ?? i);
		thread.set(`${lane.process} ${lane.thread}`, thread.get(`${lane.process} ${lane.thread}`) ?? i);
	});
	const place = (lane: Lane): number[] => lane.kind === "path" ? [-1] : [
		process.get(lane.process)!, !lane.thread && lane.kind === "series" ? 1 : 0, people.tid(lane.thread), thread.get(`${lane.process} ${lane.thread}`)!, rank(lane), lane.id,
	];
	const places = new Map(lanes.map((lane) => [lane, place(lane)]));
	return [...lanes].sort((a, b) => {
		const left = places.get(a)!, right = places.get(b)!;
		const at = left.findIndex((value, i) => value !== right[i]);
		return at < 0 ? 0 : left[at]! - (right[at] ?? 0);
	});
}

/* Collapsed initially: curves of processes and the system, if there are tracks of threads. */
export function foldedAtFirst(lanes: Lanes): Set<string> {
	const beside = lanes.lanes.some((lane) => lane.thread > 0);
	return new Set(beside ? lanes.lanes.filter((lane) => !lane.thread && lane.kind === "series").map((lane) => `s${lane.process}`) : []);
}

/* `thread`: only this thread's tracks, and tracks of no thread; 0 = all. `narrow`: there is no space for a thread's
 * name next to a track's title; the name gets a row of its own. */
export function layout(lanes: Lanes, people: People, folded: Set<string>, thread: number, narrow = false): Row[] {
	const rows: Row[] = [], wanted = ordered(lanes.lanes, people).filter((lane) => !thread || !lane.thread || lane.thread === thread);
	const readings = (process: number) => wanted.filter((lane) => lane.process === process && !lane.thread && lane.kind === "series").length;
	let top = 0, process = -1, group = "";
	const add = (row: Omit<Row, "top">) => {
		rows.push({ ...row, top });
		top += row.height;
	};
	for (const lane of wanted) {
		const whole = lane.kind === "path", processKey = `p${lane.process}`;
		if (lane.process !== process && !whole) {
			process = lane.process;
			group = "";
			add({ height: PROCESS, lane: null, head: people.process(process), key: processKey, folded: folded.has(processKey), title: "" });
		}
		if (!whole && folded.has(processKey))
			continue;
		const reading = !lane.thread && lane.kind === "series";
		const key = lane.thread ? `t${lane.thread}` : reading ? `s${lane.process}` : `l${lane.id}`, first = key !== group;
		group = key;
		if (reading && first)
			add({ height: PROCESS - 4, lane: null, head: `${readings(lane.process)} curves of its resources`, key, folded: folded.has(key), title: "" });
		if (narrow && first && lane.thread)
			add({ height: PROCESS - 4, lane: null, head: people.thread(lane.thread), key, folded: folded.has(key), title: "" });
		if ((reading || (!first && lane.thread)) && folded.has(key))
			continue;
		add({
			height: lane.thread && lane.kind === "series" ? SMALL : HEIGHTS[lane.kind] ?? 18, lane, key, folded: folded.has(key), title: titleOf(lane),
			head: first && lane.thread && !narrow ? people.thread(lane.thread) : "",
		});
	}
	return rows;
}

export function heightOf(rows: Row[]): number {
	const last = rows[rows.length - 1];
	return last ? last.top + last.height : 0;
}

/* The row at a height; above all rows the first one, below all rows the last one. */
export function rowAt(rows: Row[], y: number): number {
	let low = 0, high = rows.length - 1;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (rows[middle]!.top <= y)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* The rows between two heights: the first index, and one past the last. */
export function inSight(rows: Row[], top: number, bottom: number): [first: number, last: number] {
	return rows.length ? [rowAt(rows, top), Math.min(rows.length, rowAt(rows, bottom) + 1)] : [0, 0];
}
