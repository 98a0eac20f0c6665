/* live_tiles.mjs: the page's store of tiles while a recording grows: live_tiles.mjs SONDE TOLD FOLDER STORE. STORE is the page's
 * modules, bundled. After each step its content equals a request for everything, and it has requested less than that; a second
 * page, which asks rarely, is answered by the ids that it knows. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";

const [sonde, told, folder, bundle] = process.argv.slice(2);
globalThis.window = globalThis;
const { decode, Store, levelOf, spanOf } = await import(bundle);

const child = spawn(sonde, ["live", "-q", "--once", "--no-token", "--no-open", "--port", "0", "-f", "-o", `${folder}/tiles.sonde`, "--", told], { stdio: ["pipe", "pipe", "pipe"] });
const ended = once(child, "exit");
child.stdout.resume();
const url = await new Promise((found) => {
	let text = "";
	child.stderr.on("data", (part) => {
		const at = /^http\S+/m.exec(text += part);
		if (at)
			found(at[0]);
	});
});
const pause = (ms) => new Promise((go) => setTimeout(go, ms));
const written = (words) => Object.entries(words).filter(([, word]) => word !== undefined).map(([name, word]) => `${name}=${word}`).join("&");

let bytes = 0, anew = 0, fromLater = 0; /* the answers to the page that follows, and to one that starts anew each time */
async function answered(path, status = 200) {
	const answer = await fetch(url + path);
	assert.equal(answer.status, status, `${path}: ${answer.status}`);
	return answer;
}
const ask = async (view) => (await answered(`api/tiles?${written(view)}`)).arrayBuffer();
const data = {
	async tiles(view) {
		const body = await ask(view);
		bytes += body.byteLength;
		fromLater += view.width < 512 ? 1 : 0;
		return decode(body);
	},
};
const other = {
	async tiles(view) {
		const body = await ask(view);
		anew += body.byteLength;
		return decode(body);
	},
};
const lanes = async (since) => (await answered(`api/lanes?${written({ since })}`)).json();

/* Waits until the recording has grown by what the program was sent. */
async function counted(zone, count) {
	for (let left = 600, now = -1; now !== count; left--) {
		assert(left > 0, `never came: ${zone} ${count} times; there is ${now}`);
		const report = await (await answered("api/report?section=zones")).json();
		now = (report.sections[0].rows ?? []).filter((row) => row.zone === zone).reduce((sum, row) => sum + row.calls, 0);
		await pause(20);
	}
}

/* Everything that a frame requests, at one zoom. */
async function settle(store, view, level, ids) {
	for (let left = 2000, still = 0; still < 3; left--) {
		assert(left > 0 && !store.error, `never whole: ${store.error}`);
		store.want(view, level, ids);
		still = store.covers(view, level, ids) && !store.waiting() ? still + 1 : 0;
		await pause(2);
	}
}

/* The sums over the bins of a lane. The ends of rows are exact, wherever they were divided. */
function sums(bins, isCpu) {
	const all = { form: bins.form, many: 0, busy: 0, least: Infinity, most: -Infinity, end: 0 };
	for (let i = 0; i < bins.start.length; i++) {
		assert(i === 0 || bins.start[i] >= bins.start[i - 1], "rows are in order of time");
		all.many += bins.form === "curve" ? 0 : bins.many[i];
		all.busy += bins.form === "slices" ? Math.round(bins.busy[i] * bins.length[i]) : 0;
		all.least = bins.form === "curve" && !isCpu ? Math.min(all.least, bins.least[i]) : all.least;
		all.most = bins.form === "curve" && !isCpu ? Math.max(all.most, bins.most[i]) : all.most;
		all.end = bins.form === "moments" ? 0 : Math.max(all.end, bins.start[i] + bins.length[i]);
	}
	return all;
}

let tiles = 0;
async function compare(store, head, level) {
	for (const lane of head.lanes)
		for (let index = 0; index <= Math.floor((head.duration_ns - 1) / spanOf(level)); index++) {
			const held = store.best(lane.id, level, index), from = index * spanOf(level);
			assert(held && held.level === level && held.index === index && !held.coarse && held.cut === undefined, `${lane.kind} ${level} ${index} is there`);
			const body = await (await answered(`api/tiles?${written({ lanes: lane.id, from, to: from + spanOf(level), width: 512, made: head.made })}`)).arrayBuffer();
			tiles++;
			const mine = sums(held.bins, lane.kind === "cpu"), wanted = sums(decode(body).get(lane.id), lane.kind === "cpu");
			assert(Math.abs(mine.busy - wanted.busy) <= 1e-6 * wanted.end + wanted.many, `${lane.kind} ${lane.depth} covers ${mine.busy} of ${wanted.busy}`);
			assert.deepEqual({ ...mine, busy: 0 }, { ...wanted, busy: 0 }, `${lane.kind} of thread ${lane.thread}, level ${level}, tile ${index}`);
		}
}

let before = null, head = await lanes(), count = 0;
const first = { head, store: null };
for (let step = 0; step < 8; step++) {
	child.stdin.write(`alpha ${200 + step}\n`);
	await counted("alpha", count += 200 + step);
	head = await lanes(head.made);
	assert(head.made && head.since?.length === head.lanes.length, "what changed is told");
	const store = new Store(data, head, () => undefined), view = { from: 0, to: head.duration_ns };
	const level = Math.min(store.top, levelOf(1 << (step < 5 ? 20 : 22))); /* a short run has no higher one */
	const was = new Map(head.since.map(({ id, changed_ns }, lane) => [id, { lane, changed: changed_ns }]));
	if (before)
		store.follow(before, (id) => was.get(id));
	await settle(store, view, level, head.lanes.map(({ id }) => id));
	await compare(store, head, level);
	const fresh = new Store(other, head, () => undefined);
	await settle(fresh, view, level, head.lanes.map(({ id }) => id));
	fresh.stop();
	before?.stop();
	before = store;
}
assert(fromLater > 0, "no question began in the middle of a tile");
assert(bytes < anew, `${bytes} bytes were asked for instead of ${anew}`);
console.log(`${tiles} tiles are right; asked for ${bytes} bytes instead of ${anew}, ${fromLater} times from the middle of a tile`);

/* Ids of the first version of the tracks, whatever they are now. */
const zones = first.head.lanes.find(({ kind }) => kind === "zones") ?? first.head.lanes[0];
if (zones) {
	const query = { lanes: zones.id, from: 0, to: 1e9, width: 10, made: first.head.made };
	assert(decode(await (await answered(`api/tiles?${written(query)}`)).arrayBuffer()).has(zones.id), "by the id that it knows");
}
const refused = await (await answered(`api/tiles?lanes=0&from=0&to=1000&width=10&made=1`, 409)).json();
assert(refused.error.includes("has changed"), refused.error);
before.stop();
child.stdin.write("exit 0\n");
assert.deepEqual(await ended, [0, null]);
