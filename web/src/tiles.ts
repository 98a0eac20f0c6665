/* tiles.ts: tracks of the timeline and their bins as typed arrays: the answers of /api/lanes and /api/tiles
 * (docs/UI.md). An answer may come from another version or be truncated: an answer that does not fit is an error, and
 * is never drawn. */

export type Kind = "zones" | "spans" | "iterations" | "states" | "waits" | "path" | "cpu" | "series" | "heap" | "counters" | "instants" | "device";

export interface Lane {
	id: number;
	kind: Kind;
	form: Bins["form"];
	process: number; /* 0: none */
	thread: number;
	depth: number;
	title: string;
	unit: string;
	count: number;
	left_out: number; /* slices beyond the limit, not in `count` */
	most: number;
}

export interface Lanes {
	version: number;
	duration_ns: number;
	thinned_ns?: number; /* in a file: shorter slices were merged; 0: none were */
	names: { name: string; color: number | null }[]; /* 0xRRGGBB */
	lanes: Lane[];
	made?: string; /* of a growing recording: the version of the tracks to which the ids belong */
	since?: Since[]; /* of each track: its state in the requested earlier version */
}

/* A previous state of a track. */
export interface Since {
	id: number | null; /* its id at that time; null: it did not exist */
	changed_ns: number | null; /* earlier bins are unchanged; null: all are */
}

/* Rows in time order. `many` = 1: a single recorded slice; otherwise the number of slices that the row combines, with
 * the name of the longest. */
export interface Slices {
	form: "slices";
	start: Float64Array;
	length: Float64Array;
	busy: Float32Array;
	name: Uint32Array;
	many: Uint32Array;
}

export interface Curve {
	form: "curve";
	start: Float64Array;
	length: Float64Array;
	least: Float64Array;
	most: Float64Array;
}

export interface Moments {
	form: "moments";
	start: Float64Array;
	name: Uint32Array;
	many: Uint32Array;
}

export type Bins = Slices | Curve | Moments;

/* A request for bins; times are whole ns from the recording's start. */
export interface View {
	lanes: number[];
	from: number;
	to: number;
	width: number; /* pixels */
	made?: string | undefined; /* the version to which the ids belong */
	quick?: 1; /* answer within some milliseconds, if necessary with rows wider than a pixel */
}

/* Bins by track. */
export interface Tiles extends Map<number, Bins> {
	coarse?: boolean; /* some rows combine more than a pixel: a later request returns all details */
}

export interface Slice {
	lane: number;
	start: number;
	length: number;
	name: number;
}

/* A search for slices; everything but `names` is optional. The earliest slices come first. */
export interface Wanted {
	names: number[];
	from?: number;
	to?: number;
	shortest?: number;
	longest?: number;
	thread?: number; /* the thread's tracks, and tracks without a thread; 0: all */
	limit?: number;
}

export interface Found {
	count: number | null; /* null: counting would take too long */
	slices: Slice[];
}

export interface Arrow {
	kind: string;
	from_lane: number;
	from: number;
	to_lane: number;
	to: number;
}

export interface Arrows {
	arrows: Arrow[];
	omitted: number;
}

export interface Step {
	start: number;
	length: number;
	name: number;
	thread: number;
	lane: number | null; /* track of the thread; null: it has none */
}

export interface Path {
	steps: Step[];
	omitted: number;
}

type Make = (buffer: ArrayBuffer, at: number, count: number) => Float64Array | Float32Array | Uint32Array;

const f64: Make = (buffer, at, count) => new Float64Array(buffer, at, count);
const f32: Make = (buffer, at, count) => new Float32Array(buffer, at, count);
const u32: Make = (buffer, at, count) => new Uint32Array(buffer, at, count);

const FORMS: Record<number, [form: Bins["form"], columns: [name: string, size: number, make: Make][]]> = {
	1: ["slices", [["start", 8, f64], ["length", 8, f64], ["busy", 4, f32], ["name", 4, u32], ["many", 4, u32]]],
	2: ["curve", [["start", 8, f64], ["length", 8, f64], ["least", 8, f64], ["most", 8, f64]]],
	3: ["moments", [["start", 8, f64], ["name", 4, u32], ["many", 4, u32]]],
};
const HEAD_B = 32, LANE_HEAD_B = 16, MAGIC = 0x314c5453; /* "STL1" */

/* Each track's bins in memory of their own, so that a dropped track frees its memory. */
export function decode(buffer: ArrayBuffer): Tiles {
	const found: Tiles = new Map<number, Bins>(), wrong = () => new Error("sonde's answer about the timeline was cut off");
	if (buffer.byteLength < HEAD_B)
		throw wrong();
	const view = new DataView(buffer);
	if (view.getUint32(0, true) !== MAGIC)
		throw new Error("sonde's answer about the timeline has another version: reload the page");
	found.coarse = view.getUint32(28, true) === 1;
	let at = HEAD_B;
	for (let left = view.getUint32(4, true); left > 0; left--) {
		if (at + LANE_HEAD_B > buffer.byteLength)
			throw wrong();
		const id = view.getUint32(at, true), form = FORMS[view.getUint32(at + 4, true)], count = view.getUint32(at + 8, true);
		if (!form)
			throw new Error("sonde's answer about the timeline has an unknown form: reload the page");
		at += LANE_HEAD_B;
		const size = form[1].reduce((sum, [, size]) => sum + Math.ceil((count * size) / 8) * 8, 0);
		if (at + size > buffer.byteLength)
			throw wrong();
		const own = buffer.slice(at, at + size);
		let inside = 0;
		const bins: Record<string, unknown> = { form: form[0] };
		for (const [name, each, make] of form[1]) {
			bins[name] = make(own, inside, count);
			inside += Math.ceil((count * each) / 8) * 8;
		}
		found.set(id, bins as unknown as Bins);
		at += size;
	}
	return found;
}

export function sizeOf(bins: Bins): number {
	return 200 + bins.start.length * (bins.form === "slices" ? 28 : bins.form === "curve" ? 32 : 16);
}

/* The time up to which rows of a tile are kept if the track's bins have changed from `changed` on; Infinity: all rows
 * are kept and nothing is missing. The old rows and the new ones can be joined at that time: rows before it cover
 * everything that begins before it, and later rows cover the rest. So this time is either the start of a row or far
 * behind the last row. (When leaves are added, only the last node of a pyramid changes. If a row combines such a node
 * as a whole, the node is alone in its row or in the last row.) */
export function cutOf(bins: Bins, changed: number | null, pixel: number): number {
	if (changed === null)
		return Infinity;
	const { start } = bins, last = start.length - 1;
	const end = last < 0 ? -Infinity : start[last]! + (bins.form === "moments" ? pixel : bins.length[last]!);
	if (end + 2 * pixel < changed)
		return changed;
	let at = firstAt(start, changed);
	at -= start[at] === changed ? 0 : 1;
	while (at > 0 && start[at - 1] === start[at])
		at--;
	return at > 0 ? start[at]! : -Infinity;
}

/* The rows of `before` that start before `cut`, followed by the rows of `after` that start at `cut` or later. */
export function joined(before: Bins, cut: number, after: Bins): Bins {
	const most = firstAt(before.start, cut), least = firstAt(after.start, cut);
	const columns = Object.entries(before).filter(([, column]) => typeof column === "object") as [string, Float64Array][];
	const bins: Record<string, unknown> = { form: before.form };
	for (const [name, column] of columns) {
		const rest = (after as unknown as Record<string, Float64Array>)[name]!;
		const all = new (column.constructor as Float64ArrayConstructor)(most + rest.length - least);
		all.set(column.subarray(0, most));
		all.set(rest.subarray(least), most);
		bins[name] = all;
	}
	return bins as unknown as Bins;
}

/* The first row that starts at or after a time. */
export function firstAt(start: Float64Array, time: number): number {
	let low = 0, high = start.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (start[middle]! < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
