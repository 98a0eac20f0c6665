/* timeline_layout.ts: the rows of the timeline: processes, and under each its lanes, thread by thread. Rows have fixed heights and
 * their places are summed up once, so that of thousands only those in sight are looked at. */
import type { Recording } from "./data";
import { clean } from "./figure";
import type { Kind, Lane, Lanes } from "./tiles";

export interface Row {
	top: number;
	height: number;
	lane: Lane | null; /* null: the head of a process */
	head: string; /* what it folds, by name; "" = nothing */
	key: string; /* of what it folds */
	folded: boolean;
	title: string; /* of the lane */
}

export const HEIGHTS: Record<Kind, number> = {
	zones: 18, spans: 18, iterations: 18, path: 18, states: 14, waits: 16, cpu: 28, series: 34, heap: 34, counters: 34, instants: 16,
};
const PROCESS = 24;

const TITLES: Record<Kind, string> = {
	zones: "zones", spans: "spans", iterations: "iterations", path: "critical path", states: "states", waits: "waits", cpu: "CPU",
	series: "", heap: "heap", counters: "", instants: "instants",
};

/* A lane by what it shows: its own title, or what lanes of its kind are called. */
export function titleOf(lane: Lane): string {
	return clean(lane.title || TITLES[lane.kind]) + (lane.depth > 0 && !lane.title ? ` ${lane.depth}` : "");
}

export class People {
	private threads: Map<number, string>;
	private processes: Map<number, string>;
	constructor(recording: Recording) {
		this.threads = new Map(recording.threads.map((at) => [at.id, `${clean(at.name) || "thread"} (${at.tid})`]));
		this.processes = new Map(recording.processes.map((at) => [at.id, `${clean(at.name) || "process"} (${at.pid})`]));
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

/* `thread`: this one's lanes and those of no thread; 0 = all. */
export function layout(lanes: Lanes, people: People, folded: Set<string>, thread: number): Row[] {
	const rows: Row[] = [];
	let top = 0, process = -1, group = "";
	const add = (row: Omit<Row, "top">) => {
		rows.push({ ...row, top });
		top += row.height;
	};
	for (const lane of lanes.lanes) {
		if (thread && lane.thread && lane.thread !== thread)
			continue;
		const processKey = `p${lane.process}`, isFolded = lane.kind !== "path" && folded.has(processKey);
		if (lane.process !== process && lane.kind !== "path") {
			process = lane.process;
			group = "";
			add({ height: PROCESS, lane: null, head: people.process(process), key: processKey, folded: isFolded, title: "" });
		}
		if (isFolded)
			continue;
		const key = lane.thread ? `t${lane.thread}` : `l${lane.id}`, first = lane.thread ? key !== group : false;
		group = key;
		if (!first && lane.thread && folded.has(key))
			continue;
		add({
			height: HEIGHTS[lane.kind] ?? 18, lane, key, folded: folded.has(key), title: titleOf(lane),
			head: first ? people.thread(lane.thread) : "",
		});
	}
	return rows;
}

export function heightOf(rows: Row[]): number {
	const last = rows[rows.length - 1];
	return last ? last.top + last.height : 0;
}

/* The row at a height; the first or last where it lies outside. */
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

/* Those from one height to another: from the first index up to, without, the second. */
export function inSight(rows: Row[], top: number, bottom: number): [first: number, last: number] {
	return rows.length ? [rowAt(rows, top), Math.min(rows.length, rowAt(rows, bottom) + 1)] : [0, 0];
}
