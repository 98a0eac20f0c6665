/* timeline_raster.ts: bins as pixels. Slices and instants become one row of pixels that is stretched to the track's height, a
 * curve as many rows as its height: one block of pixels per frame, whatever the number of slices. */
import { type Curve, firstAt, type Moments, type Slices } from "./tiles";

/* The mapping of times to pixels: pixel = (time − from) ÷ each. Only pixels from `left` to `right` (exclusive) are
 * written. */
export interface Strip {
	from: number;
	each: number; /* ns per pixel */
	left: number;
	right: number;
}

export type Colour = [red: number, green: number, blue: number];

export function packed([red, green, blue]: Colour): number {
	return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/* Mixes `share` of the colour `over` into `under`; both are packed. */
export function mixed(over: number, under: number, share: number): number {
	const part = (share * 256) | 0, rest = 256 - part;
	const even = (((over & 0xff00ff) * part + (under & 0xff00ff) * rest) >>> 8) & 0xff00ff;
	const odd = (((over & 0xff00) * part + (under & 0xff00) * rest) >>> 8) & 0xff00;
	return (0xff000000 | even | odd) >>> 0;
}

const WIDE = 3; /* minimum width in pixels of a slice with an edge */

/* A pixel gets the colour of the slice that fills most of it; `weight` is scratch memory, as wide as the row. */
export function rasterSlices(row: Uint32Array, weight: Float64Array, bins: Slices, strip: Strip, colours: Uint32Array, ground: number): void {
	const { start, length, busy, name, many } = bins, { from, each, left, right } = strip;
	const end = from + right * each;
	weight.fill(0, left, right);
	let i = firstAt(start, from + left * each);
	if (i > 0)
		i--;
	for (; i < start.length && start[i]! < end; i++) {
		const x0 = (start[i]! - from) / each, wide = length[i]! / each, x1 = x0 + wide;
		const colour = colours[name[i]!] ?? ground;
		if (many[i] === 1 && wide >= WIDE) {
			const a = Math.max(left, Math.round(x0)), b = Math.min(right, Math.round(x1));
			if (b > a) {
				row.fill(colour, a, b);
				weight.fill(Infinity, a, b);
				if (b === Math.round(x1))
					row[b - 1] = mixed(colour, ground, 0.3);
			}
			continue;
		}
		const a = Math.max(left, Math.floor(x0)), b = Math.min(right, Math.max(Math.ceil(x1), Math.floor(x0) + 1));
		const full = Math.max(busy[i]! * Math.min(wide, 1), 1e-6), shade = mixed(colour, ground, 0.3 + 0.7 * Math.min(1, busy[i]! * Math.max(wide, 0.3)));
		for (let x = a; x < b; x++)
			if (full > weight[x]!) {
				weight[x] = full;
				row[x] = shade;
			}
	}
}

export function rasterMoments(row: Uint32Array, bins: Moments, strip: Strip, colours: Uint32Array, ground: number): void {
	const { start, name } = bins, { from, each, left, right } = strip;
	const end = from + right * each;
	for (let i = firstAt(start, from + (left - 2) * each); i < start.length && start[i]! < end; i++) {
		const x = Math.floor((start[i]! - from) / each), colour = colours[name[i]!] ?? ground;
		for (let at = Math.max(left, x); at < Math.min(right, x + 2); at++)
			row[at] = colour;
	}
}

/* A curve is filled up to the minimum, and paler from there to the maximum, in `high` rows, the top row first. `low`
 * and `peak` are scratch memory. */
export function rasterCurve(rows: Uint32Array, stride: number, high: number, bins: Curve, strip: Strip, most: number,
	fill: number, pale: number, low: Float64Array, peak: Float64Array): void {
	const { start, length, least } = bins, { from, each, left, right } = strip, above = bins.most;
	const end = from + right * each, scale = most > 0 ? (high - 1) / most : 0;
	low.fill(Infinity, left, right);
	peak.fill(-1, left, right);
	let i = firstAt(start, from + left * each);
	if (i > 0)
		i--;
	for (; i < start.length && start[i]! < end; i++) {
		const x0 = (start[i]! - from) / each, a = Math.max(left, Math.floor(x0));
		const b = Math.min(right, Math.max(Math.ceil(x0 + length[i]! / each), Math.floor(x0) + 1));
		const under = least[i]! * scale, over = above[i]! * scale;
		for (let x = a; x < b; x++) {
			if (under < low[x]!)
				low[x] = under;
			if (over > peak[x]!)
				peak[x] = over;
		}
	}
	for (let y = 0; y < high; y++) {
		const level = high - 1 - y, at = y * stride;
		for (let x = left; x < right; x++)
			if (peak[x]! >= level && peak[x]! > 0)
				rows[at + x] = low[x]! >= level ? fill : pale;
	}
}
