/* tiles_fold.ts: bins of a track embedded in the page, as src/tiles/ makes them on the server: a 16-to-1 pyramid over
 * the track is walked down to nodes shorter than a pixel, and nodes that start in the same pixel are merged. Page and
 * server must give the same result: tests/cli/ui/ui-bins.sh and tests/ui/timeline.mjs compare them. */
import type { Bins, Curve, Moments, Slices } from "./tiles";

const FAN = 16;

/* Nodes by column. `one`: the covered time of slices, or the minimum of a curve; `other`: the longest slice, or the
 * maximum. */
interface Nodes {
	count: number;
	from: Float64Array;
	to: Float64Array;
	one: Float64Array;
	other: Float64Array;
	name: Uint32Array;
	many: Float64Array;
}

/* The columns in the file. Curves have no names; tracks that were not thinned have no `many` and `busy`. */
export interface Columns {
	form: Bins["form"];
	start: Float64Array;
	length: Float64Array;
	name?: Uint32Array;
	many?: Float64Array;
	busy?: Float64Array; /* ns */
	least?: Float64Array;
	most?: Float64Array;
}

function nodes(count: number): Nodes {
	const column = () => new Float64Array(count);
	return { count, from: column(), to: column(), one: column(), other: column(), name: new Uint32Array(count), many: column() };
}

function leavesOf(columns: Columns): Nodes {
	const count = columns.start.length, all = nodes(count), curve = columns.form === "curve";
	all.from = columns.start;
	for (let i = 0; i < count; i++)
		all.to[i] = columns.start[i]! + columns.length[i]!;
	all.one = (curve ? columns.least : columns.busy) ?? columns.length;
	all.other = (curve ? columns.most : undefined) ?? columns.length;
	all.name = columns.name ?? all.name;
	all.many = columns.many ?? all.many.fill(1);
	return all;
}

/* The next level: one node for every FAN nodes of the level below. */
function above(below: Nodes, curve: boolean): Nodes {
	const all = nodes(Math.ceil(below.count / FAN));
	for (let i = 0; i < below.count; i++) {
		const at = Math.floor(i / FAN);
		if (i % FAN === 0) {
			all.from[at] = below.from[i]!;
			all.one[at] = below.one[i]!;
			all.other[at] = below.other[i]!;
			all.name[at] = below.name[i]!;
		} else if (curve) {
			all.one[at] = Math.min(all.one[at]!, below.one[i]!);
			all.other[at] = Math.max(all.other[at]!, below.other[i]!);
		} else {
			all.one[at]! += below.one[i]!;
			if (below.other[i]! > all.other[at]!) {
				all.other[at] = below.other[i]!;
				all.name[at] = below.name[i]!;
			}
		}
		all.to[at] = below.to[i]!;
		all.many[at]! += below.many[i]!;
	}
	return all;
}

/* Rows under construction. */
interface Rows {
	from: number[];
	to: number[];
	one: number[];
	other: number[];
	name: number[];
	many: number[];
}

export class Fold {
	readonly count: number;
	private levels: Nodes[];
	private curve: boolean;
	constructor(private columns: Columns) {
		this.curve = columns.form === "curve";
		this.levels = [leavesOf(columns)];
		this.count = this.levels[0]!.count;
	}

	/* The pyramid is built when first needed: tracks that are never visible cost nothing. */
	private built(): Nodes[] {
		while (this.levels[this.levels.length - 1]!.count > 1)
			this.levels.push(above(this.levels[this.levels.length - 1]!, this.curve));
		return this.levels;
	}

	bins(from: number, to: number, width: number): Bins {
		const levels = this.built(), pixel = (to - from) / width, curve = this.curve;
		const rows: Rows = { from: [], to: [], one: [], other: [], name: [], many: [] };
		let open = false, cell = 0, longest = 0;
		const take = (at: Nodes, i: number) => {
			const long = at.to[i]! - at.from[i]! >= pixel, here = Math.floor(at.from[i]! / pixel), last = rows.from.length - 1;
			if (!long && open && here === cell) {
				rows.to[last] = Math.max(rows.to[last]!, at.to[i]!);
				rows.many[last]! += at.many[i]!;
				if (curve) {
					rows.one[last] = Math.min(rows.one[last]!, at.one[i]!);
					rows.other[last] = Math.max(rows.other[last]!, at.other[i]!);
					return;
				}
				rows.one[last]! += at.one[i]!;
				if (at.other[i]! > longest) {
					longest = at.other[i]!;
					rows.name[last] = at.name[i]!;
				}
				return;
			}
			for (const key of ["from", "to", "one", "other", "name", "many"] as const)
				rows[key].push(at[key][i]!);
			cell = here;
			open = !long;
			longest = at.other[i]!;
		};
		const visit = (level: number, i: number) => {
			const at = levels[level]!;
			if (at.to[i]! < from || at.from[i]! > to)
				return;
			if (!level || at.to[i]! - at.from[i]! < pixel) {
				take(at, i);
				return;
			}
			const end = Math.min((i + 1) * FAN, levels[level - 1]!.count);
			for (let below = i * FAN; below < end; below++)
				visit(level - 1, below);
		};
		const top = levels.length - 1;
		for (let i = 0; i < levels[top]!.count; i++)
			visit(top, i);
		return binsOf(this.columns.form, rows);
	}

	/* The first leaf from an index on that has a wanted name and duration; -1 = none. */
	next(from: number, names: Uint8Array, shortest: number, longest: number): number {
		const leaves = this.levels[0]!;
		for (let i = from; i < leaves.count; i++) {
			const length = leaves.to[i]! - leaves.from[i]!;
			if (names[leaves.name[i]!] && leaves.many[i] === 1 && length >= shortest && length <= longest)
				return i;
		}
		return -1;
	}

	get start(): Float64Array {
		return this.columns.start;
	}

	at(i: number): { start: number; length: number; name: number } {
		const { from, to, name } = this.levels[0]!;
		return { start: from[i]!, length: to[i]! - from[i]!, name: name[i]! };
	}
}

function binsOf(form: Bins["form"], rows: Rows): Bins {
	const start = Float64Array.from(rows.from), length = Float64Array.from(rows.to, (to, i) => to - rows.from[i]!);
	if (form === "curve")
		return { form, start, length, least: Float64Array.from(rows.one), most: Float64Array.from(rows.other) } satisfies Curve;
	const name = Uint32Array.from(rows.name), many = Uint32Array.from(rows.many, (many) => Math.min(many, 0xffffffff));
	if (form === "moments")
		return { form, start, name, many } satisfies Moments;
	const busy = Float32Array.from(rows.one, (covered, i) => (length[i]! > 0 ? covered / length[i]! : 1));
	return { form, start, length, busy, name, many } satisfies Slices;
}
