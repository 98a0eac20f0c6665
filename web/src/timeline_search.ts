/* timeline_search.ts: search for slices by name: the names that a regular expression matches, and the next or previous
 * matching slice, which is requested in steps that stay small however long the run is. */
import type { DataSource } from "./data";
import { matcher } from "./figure";
import type { Lanes, Slice, Wanted } from "./tiles";

const NAMES_MOST = 800, PAGE = 200, STEPS = 60;

export interface Sought {
	names: number[];
	bits: Uint8Array | null; /* by name: 1 = matches; null: no search */
	tooMany: boolean; /* more matching names than a request can list */
}

export function sought(lanes: Lanes, words: string): Sought {
	const wanted = matcher(words);
	if (!wanted)
		return { names: [], bits: null, tooMany: false };
	const bits = Uint8Array.from(lanes.names, ({ name }) => (wanted.test(name) ? 1 : 0));
	const names = lanes.names.flatMap((_, i) => (bits[i] ? [i] : []));
	return { names, bits, tooMany: names.length > NAMES_MOST };
}

function compare(a: Slice, b: Slice): number {
	return a.start - b.start || a.lane - b.lane;
}

/* The first slice after `now` (null: the first of all) within the wanted time range. */
export async function following(data: DataSource, wanted: Wanted, now: Slice | null, duration: number): Promise<Slice | null> {
	const to = wanted.to ?? Math.ceil(duration) + 1;
	for (let from = Math.max(wanted.from ?? 0, Math.floor(now?.start ?? 0)), steps = 0; from < to && steps < STEPS; steps++) {
		const { slices } = await data.find({ ...wanted, from, to, limit: PAGE });
		const next = slices.filter((slice) => !now || compare(slice, now) > 0).sort(compare)[0];
		const last = slices[slices.length - 1];
		if (next || !last || slices.length < PAGE || last.start < from + 1)
			return next ?? null;
		from = Math.floor(last.start);
	}
	return null;
}

/* The last slice before `now` (null: the last of all). Searches backwards in parts of growing length until a slice is
 * found. */
export async function preceding(data: DataSource, wanted: Wanted, now: Slice | null, duration: number, part: number): Promise<Slice | null> {
	const least = wanted.from ?? 0, end = Math.min(wanted.to ?? Infinity, Math.ceil(now ? now.start : duration) + 1);
	let to = end, from = Math.max(least, Math.floor(end - Math.max(part, 1000)));
	for (let steps = 0; from < to && steps < STEPS; steps++) {
		const { slices } = await data.find({ ...wanted, from, to, limit: PAGE });
		const before = slices.filter((slice) => (from <= least || slice.start >= from) && (!now || compare(slice, now) < 0)).sort(compare);
		if (slices.length >= PAGE && to - from > 1) {
			from = Math.max(from + 1, Math.min(to - 1, Math.floor((from + to) / 2))); /* the later half */
		} else if (before.length) {
			return before[before.length - 1]!;
		} else if (from <= least) {
			return null;
		} else {
			to = from + 1;
			from = Math.max(least, Math.floor(to - (end - to + Math.max(part, 1000)) * 4));
		}
	}
	return null;
}
