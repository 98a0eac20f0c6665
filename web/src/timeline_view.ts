/* timeline_view.ts: the visible range, as arithmetic: how it zooms and moves, and where the ruler has its marks. Times are ns
 * from the start of the recording. */
import { fixed } from "./figure";

export interface Window {
	from: number;
	to: number;
}

const LEAST_NS = 100; /* minimum range of the whole picture */

/* Limits a range to the run, with at least LEAST_NS. */
export function clamped({ from, to }: Window, duration: number): Window {
	const most = Math.max(duration, LEAST_NS), span = Math.min(Math.max(to - from, LEAST_NS), most);
	const middle = (from + to) / 2;
	const start = Math.min(Math.max(to - from < LEAST_NS ? middle - span / 2 : from, 0), most - span);
	return { from: start, to: start + span };
}

/* Zooms with `at` as the fixed point; a factor below 1 zooms in. */
export function zoomed({ from, to }: Window, at: number, factor: number, duration: number): Window {
	const span = Math.min(Math.max((to - from) * factor, LEAST_NS), Math.max(duration, LEAST_NS));
	const place = (at - from) / (to - from || 1);
	return clamped({ from: at - place * span, to: at + (1 - place) * span }, duration);
}

export function panned({ from, to }: Window, by: number, duration: number): Window {
	return clamped({ from: from + by, to: to + by }, duration);
}

/* A range with a margin on both sides. */
export function around(from: number, to: number, duration: number): Window {
	const air = Math.max((to - from) * 0.1, LEAST_NS / 4);
	return clamped({ from: from - air, to: to + air }, duration);
}

export function parsed(words: string): Window | null {
	const found = /^(\d{1,16})-(\d{1,16})$/.exec(words);
	return found && Number(found[1]) < Number(found[2]) ? { from: Number(found[1]), to: Number(found[2]) } : null;
}

export function written({ from, to }: Window): string {
	return `${Math.floor(from)}-${Math.ceil(to)}`;
}

const UNITS: [from: number, scale: number, name: string][] = [[1e9, 1e9, "s"], [1e6, 1e6, "ms"], [1e3, 1e3, "µs"], [0, 1, "ns"]];

/* A time with enough digits to distinguish it from one that is `step` away. */
export function moment(time: number, step: number, whole: number): string {
	const [, scale, name] = UNITS.find(([from]) => whole >= from)!;
	const digits = Math.max(0, Math.ceil(Math.log10(scale / Math.max(step, 0.1)) - 1e-9));
	return `${fixed(time / scale, Math.min(digits, 12))} ${name}`;
}

/* Marks at 1, 2 or 5 times a power of ten, at least `apart` pixels from each other. */
export function ticks({ from, to }: Window, width: number, apart: number): { step: number; first: number } {
	const least = ((to - from) / Math.max(width, 1)) * apart, power = 10 ** Math.floor(Math.log10(least));
	const step = [1, 2, 5, 10].map((times) => times * power).find((step) => step >= least) ?? 10 * power;
	return { step, first: Math.ceil(from / step) * step };
}
