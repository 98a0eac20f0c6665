/* bins.mjs: bins.mjs FOLD.mjs BINS: the page's tiles_fold.ts, bundled, merges slices, curves and instants as src/tiles/ does. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const { Fold } = await import(process.argv[2]);
const lanes = JSON.parse(readFileSync(process.argv[3], "utf8"));
const column = (rows, k, Type = Float64Array) => Type.from(rows, (row) => row[k]);
const base = (form, rows) => ({ form, start: column(rows, 0), length: Float64Array.from(rows, ([from, to]) => to - from) });

function held(form, leaves) {
	return form === "curve" ? { ...base(form, leaves), least: column(leaves, 2), most: column(leaves, 3) } : { ...base(form, leaves), name: column(leaves, 2, Uint32Array) };
}

function told(form, bins) {
	const { start, length } = base(form, bins);
	if (form === "curve")
		return { form, start, length, least: column(bins, 2), most: column(bins, 3) };
	const name = column(bins, 2, Uint32Array), many = column(bins, 3, Uint32Array);
	if (form === "moments")
		return { form, start, name, many };
	return { form, start, length, busy: Float32Array.from(bins, ([from, to, , , busy]) => (to > from ? busy / (to - from) : 1)), name, many };
}

let compared = 0, together = 0;
for (const { form, leaves, views } of lanes) {
	const fold = new Fold(held(form, leaves));
	for (const { from, to, width, bins } of views) {
		assert.deepEqual(fold.bins(from, to, width), told(form, bins), `${form} from ${from} to ${to} in ${width}`);
		compared += bins.length;
		together += bins.filter(([, , , many]) => form !== "curve" && many > 1).length;
	}
}
assert.deepEqual([...new Set(lanes.map(({ form }) => form))].sort(), ["curve", "moments", "slices"]);
assert(lanes.some(({ leaves }) => leaves[0][0] < 0), "a lane begins before the recording");
console.log(`${compared} bins are alike, of which ${together} are of several slices`);
