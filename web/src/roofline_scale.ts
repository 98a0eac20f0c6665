/* roofline_scale.ts: what a roofline is drawn of: ceilings and points out of the tables `roofs` and `roofline`, and the scale that
 * has room for them. The same choices as src/export/roofline_svg.c makes. */
import { type Row, type Table, text, value } from "./data";

export interface Point {
	row: Row;
	name: string;
	x: number; /* FLOP a byte */
	y: number; /* GFLOP/s */
	share: number; /* of the run, 0 … 1; 0 where it is not known */
	atMost: boolean; /* bytes are the least that must move: it lies there, or further left */
}

/* A horizontal line at `rate` GFLOP/s, or a diagonal of `rate` GB/s. */
export interface Ceiling {
	name: string;
	form: "peak" | "memory";
	kind: "all" | "one" | "maker" | "set"; /* all CPUs, one thread, by the datasheet, a lesser instruction set */
	rate: number;
}

export interface Scale {
	x: (x: number) => number; /* of decimal logarithms, to pixels */
	y: (y: number) => number;
	left: number;
	right: number;
	top: number;
	bottom: number;
	xs: [least: number, most: number]; /* decimal logarithms */
	ys: [least: number, most: number];
}

const BELOW_MOST = 2; /* powers of ten below the ceilings that have room */
const POWERS_MOST = 30; /* an axis has a line for each */

function real(row: Row, key: string): number {
	const found = value(row, key);
	return typeof found === "number" ? found : -1;
}

/* Whether an axis can hold it; what is not known is negative. */
function hasPlace(at: number): boolean {
	return Number.isFinite(at) && at > 0 && Math.abs(Math.log10(at)) <= POWERS_MOST;
}

/* Rows that have an intensity and a rate. What lacks one of them has no place. */
export function pointsOf(table: Table): Point[] {
	return table.rows.filter((row) => hasPlace(real(row, "flop_per_byte")) && hasPlace(real(row, "gflop_per_s"))).map((row) => ({
		row, name: text(row, "zone"), x: real(row, "flop_per_byte"), y: real(row, "gflop_per_s"),
		share: Math.min(1, Math.max(0, real(row, "wall_share"))), atMost: text(row, "bytes_are") === "model",
	}));
}

/* The best rate of all rows of a level, or of a precision; −1 = none. */
function best(roofs: Table, name: string, rate: string): number {
	return roofs.rows.reduce((most, row) => (text(row, "ceiling") === name || text(row, "of") === name ? Math.max(most, real(row, rate)) : most), -1);
}

export function ceilingsOf(roofs: Table): Ceiling[] {
	const peak = best(roofs, "FP64", "all_threads");
	const found: Ceiling[] = [
		{ name: "FP64", form: "peak", kind: "all", rate: peak },
		{ name: "FP32", form: "peak", kind: "all", rate: best(roofs, "FP32", "all_threads") },
		{ name: "FP64, datasheet", form: "peak", kind: "maker", rate: best(roofs, "FP64", "datasheet") },
		{ name: "FP32, datasheet", form: "peak", kind: "maker", rate: best(roofs, "FP32", "datasheet") },
		{ name: "FP64, one thread", form: "peak", kind: "one", rate: best(roofs, "FP64", "one_thread") },
		...roofs.rows.filter((row) => text(row, "of") === "FP64" && real(row, "all_threads") < peak)
			.map((row): Ceiling => ({ name: `FP64 ${text(row, "ceiling")}`, form: "peak", kind: "set", rate: real(row, "all_threads") })),
		...["L1", "L2", "L3", "DRAM"].map((name): Ceiling => ({ name, form: "memory", kind: "all", rate: best(roofs, name, "all_threads") })),
		{ name: "DRAM, datasheet", form: "memory", kind: "maker", rate: best(roofs, "DRAM", "datasheet") },
		{ name: "DRAM, one thread", form: "memory", kind: "one", rate: best(roofs, "DRAM", "one_thread") },
	];
	return found.filter(({ rate }) => hasPlace(rate));
}

/* The highest that all CPUs, or one thread, reached; what memory allows ends there. */
export function highest(ceilings: Ceiling[], kind: Ceiling["kind"]): number {
	return ceilings.reduce((most, at) => (at.form === "peak" && at.kind === kind ? Math.max(most, at.rate) : most), 0);
}

/* A point far below all ceilings would press all others together: it stands at the lower edge. */
export function isBelow(point: Point, scale: Scale): boolean {
	return Math.log10(point.y) < scale.ys[0];
}

export function scaleOf(points: Point[], ceilings: Ceiling[], width: number, height: number): Scale {
	const at = { left: 64, right: width - 12, top: 14, bottom: height - 46 }, slow = ceilings.find(({ name }) => name === "DRAM, one thread")?.rate;
	const xs = [-1.5, 2, ...points.map((point) => Math.log10(point.x))], from = Math.min(...xs);
	const ys = [...ceilings.filter(({ form, kind }) => form === "peak" && kind !== "set" && kind !== "one").map(({ rate }) => Math.log10(rate))];
	if (slow)
		ys.push(Math.log10(slow) + from);
	const lowest = ys.length ? Math.min(...ys) - BELOW_MOST : -Infinity;
	ys.push(...points.map((point) => Math.log10(point.y)).filter((power) => power >= lowest));
	const x: [number, number] = [from - 0.15, Math.max(...xs) + 0.15], y: [number, number] = ys.length ? [Math.min(...ys) - 0.2, Math.max(...ys) + 0.25] : [-0.2, 0.25];
	return {
		...at, xs: x, ys: y,
		x: (power) => at.left + ((power - x[0]) / (x[1] - x[0])) * (at.right - at.left),
		y: (power) => at.bottom - ((power - y[0]) / (y[1] - y[0])) * (at.bottom - at.top),
	};
}

/* Whole powers of ten within a part of an axis, each at least `apart` pixels from the next. */
export function powers([from, to]: [number, number], room: number, apart: number): number[] {
	const each = Math.max(1, Math.ceil(((to - from) * apart) / Math.max(1, room))), found: number[] = [];
	for (let power = Math.ceil(from / each) * each; power <= to; power += each)
		found.push(power);
	return found;
}

/* Where a ceiling begins and ends, in decimal logarithms; null: out of sight. */
export function segment(ceiling: Ceiling, ceilings: Ceiling[], scale: Scale): [x1: number, y1: number, x2: number, y2: number] | null {
	const power = Math.log10(ceiling.rate), { xs, ys } = scale;
	if (ceiling.form === "peak") {
		if (power < ys[0] || power > ys[1])
			return null;
		const fastest = ceilings.find(({ name }) => name === "L1")?.rate;
		return [Math.min(xs[1], Math.max(xs[0], fastest ? power - Math.log10(fastest) : xs[0])), power, xs[1], power];
	}
	const top = highest(ceilings, ceiling.kind === "one" ? "one" : "all"), from = Math.max(xs[0], ys[0] - power), to = Math.min(xs[1], Math.log10(top) - power);
	return top > 0 && to > from ? [from, from + power, to, to + power] : null;
}
