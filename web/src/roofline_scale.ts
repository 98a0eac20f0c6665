/* roofline_scale.ts: the data of a roofline: ceilings and points from the tables `roofs` and `roofline`, and a scale that fits
 * them. Makes the same choices as src/export/plot/roofline_svg.c. */
import { type Row, type Table, text, value } from "./data";

export interface Point {
	row: Row;
	name: string;
	x: number; /* FLOP per byte */
	y: number; /* GFLOP/s */
	share: number; /* of the run, 0 … 1; 0 if unknown */
	atMost: boolean; /* bytes are a lower bound: the true point is here or further left */
}

/* A horizontal line at `rate` GFLOP/s, or a diagonal of `rate` GB/s. */
export interface Ceiling {
	name: string;
	form: "peak" | "memory";
	kind: "all" | "one" | "maker" | "set" | "theory"; /* of all CPUs; of one thread; from a datasheet; of a narrower instruction set; theoretical, of a device */
	rate: number;
}

export interface Scale {
	x: (x: number) => number; /* maps decimal logarithms to pixels */
	y: (y: number) => number;
	left: number;
	right: number;
	top: number;
	bottom: number;
	xs: [least: number, most: number]; /* decimal logarithms */
	ys: [least: number, most: number];
}

const BELOW_MOST = 2; /* powers of ten shown below the ceilings */
const POWERS_MOST = 30; /* an axis has a grid line for each */

function real(row: Row, key: string): number {
	const found = value(row, key);
	return typeof found === "number" ? found : -1;
}

/* True if an axis can show the value; unknown values are negative. */
function hasPlace(at: number): boolean {
	return Number.isFinite(at) && at > 0 && Math.abs(Math.log10(at)) <= POWERS_MOST;
}

/* Rows that have an intensity and a rate; without one of them, a row has no position. */
export function pointsOf(table: Table): Point[] {
	return table.rows.filter((row) => hasPlace(real(row, "flop_per_byte")) && hasPlace(real(row, "gflop_per_s"))).map((row) => ({
		row, name: text(row, "zone"), x: real(row, "flop_per_byte"), y: real(row, "gflop_per_s"),
		share: Math.min(1, Math.max(0, real(row, "wall_share"))), atMost: text(row, "bytes_are") === "model",
	}));
}

/* The highest rate of all rows of a memory level or precision; −1 = none. */
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

/* Devices with the same name and the same ceilings. */
export interface DeviceCeilings {
	names: string[];
	ceilings: Ceiling[];
	unknown: string[]; /* ceilings without a rate */
}

/* The name without the number at its end. */
function kindOf(name: string): string {
	return name.slice(0, Math.max(0, name.lastIndexOf(" ")));
}

/* Devices with at least one known ceiling, in the order of the table `device-roofs`, in which the rows of a device are
 * adjacent. */
export function devicesOf(roofs: Table): DeviceCeilings[] {
	const all = new Map<string, DeviceCeilings>(), found = new Map<string, DeviceCeilings>();
	for (const row of roofs.rows) {
		const name = text(row, "device"), rate = real(row, "rate"), ceiling = text(row, "ceiling"), isMemory = text(row, "unit") === "GB/s";
		const device = all.get(name) ?? { names: [name], ceilings: [], unknown: [] };
		all.set(name, device);
		if (hasPlace(rate))
			device.ceilings.push({ name: ceiling, form: isMemory ? "memory" : "peak", kind: "theory", rate });
		else
			device.unknown.push(ceiling);
	}
	for (const [name, device] of all) {
		const key = JSON.stringify([kindOf(name), device.ceilings]), alike = found.get(key);
		if (alike)
			alike.names.push(name);
		else if (device.ceilings.length)
			found.set(key, device);
	}
	return [...found.values()];
}

/* The highest peak of this kind (all CPUs, or one thread); memory ceilings end there. */
export function highest(ceilings: Ceiling[], kind: Ceiling["kind"]): number {
	return ceilings.reduce((most, at) => (at.form === "peak" && at.kind === kind ? Math.max(most, at.rate) : most), 0);
}

/* A point far below all ceilings would compress all others: it is drawn at the lower edge. */
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
	return scaled(at, [from - 0.15, Math.max(...xs) + 0.15], ys.length ? [Math.min(...ys) - 0.2, Math.max(...ys) + 0.25] : [-0.2, 0.25]);
}

/* The axes cover a decade on both sides of the point where memory stops limiting, down to the rate that memory allows
 * there. */
export function deviceScaleOf(ceilings: Ceiling[], width: number, height: number): Scale {
	const at = { left: 64, right: width - 12, top: 14, bottom: height - 46 };
	const peaks = ceilings.filter(({ form }) => form === "peak").map(({ rate }) => Math.log10(rate)), memory = ceilings.find(({ form }) => form === "memory");
	const bandwidth = memory ? Math.log10(memory.rate) : 0, xs: [number, number] = [-1, 2], ys = [...peaks];
	if (memory && peaks.length) {
		xs[0] = Math.min(xs[0], Math.min(...peaks) - bandwidth - 1);
		xs[1] = Math.max(xs[1], Math.max(...peaks) - bandwidth + 1);
	}
	if (memory)
		ys.push(bandwidth + xs[0], ...(peaks.length ? [] : [bandwidth + xs[1]]));
	return scaled(at, xs, [Math.min(...ys) - 0.3, Math.max(...ys) + 0.35]);
}

function scaled(at: Pick<Scale, "left" | "right" | "top" | "bottom">, x: [number, number], y: [number, number]): Scale {
	return {
		...at, xs: x, ys: y,
		x: (power) => at.left + ((power - x[0]) / (x[1] - x[0])) * (at.right - at.left),
		y: (power) => at.bottom - ((power - y[0]) / (y[1] - y[0])) * (at.bottom - at.top),
	};
}

/* Integer powers of ten within a range of an axis, each at least `apart` pixels from the next. */
export function powers([from, to]: [number, number], room: number, apart: number): number[] {
	const each = Math.max(1, Math.ceil(((to - from) * apart) / Math.max(1, room))), found: number[] = [];
	for (let power = Math.ceil(from / each) * each; power <= to; power += each)
		found.push(power);
	return found;
}

/* Start and end of a ceiling in decimal logarithms; null: not visible. */
export function segment(ceiling: Ceiling, ceilings: Ceiling[], scale: Scale): [x1: number, y1: number, x2: number, y2: number] | null {
	const power = Math.log10(ceiling.rate), { xs, ys } = scale;
	if (ceiling.form === "peak") {
		if (power < ys[0] || power > ys[1])
			return null;
		const fastest = ceilings.find(({ name, form, kind }) => (ceiling.kind === "theory" ? form === "memory" && kind === "theory" : name === "L1"))?.rate;
		return [Math.min(xs[1], Math.max(xs[0], fastest ? power - Math.log10(fastest) : xs[0])), power, xs[1], power];
	}
	const own = ceiling.kind === "theory" && !highest(ceilings, "theory") ? 10 ** ys[1] : 0; /* no known peak */
	const top = own || highest(ceilings, ceiling.kind === "one" || ceiling.kind === "theory" ? ceiling.kind : "all"), from = Math.max(xs[0], ys[0] - power), to = Math.min(xs[1], Math.log10(top) - power);
	return top > 0 && to > from ? [from, from + power, to, to + power] : null;
}
