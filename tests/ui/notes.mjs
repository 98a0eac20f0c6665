/* notes.mjs: notes.mjs SAID.mjs SCHEMA REPORT…: advice in notes, in the words of the page: each kind of action in the schema has
 * a case here, and notes of real reports contain no options except those that must be typed. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const { reportInPage } = await import(process.argv[2]);
const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const kinds = read(process.argv[3]).definitions.notes.items.properties.action.properties.kind.enum;

const CASES = {
	record: ["allocations (record with --heap)", "--heap", "allocations (record with --heap)"],
	time: ["9 were left out: choose a part with --from and --to", "choose a part with --from and --to", "9 were left out: choose a part of the time"],
	thread: ["2 other threads: --thread shows one of them", "--thread", "2 other threads: a thread that is chosen above shows one of them"],
	function: ["± is 95 %; another function: --focus NAME", "--focus NAME", "± is 95 %; another function: click its name"],
	section: ["9 more heaps: --section heaps", "--section heaps", "9 more heaps: the section heaps"],
	metric: ["lost; --metric live-at-exit includes them", "--metric live-at-exit", "lost; the metric live-at-exit includes them"],
	heap: ["malloc only; for others use --heap-of: a, b", "for others use --heap-of", "malloc only; choose another heap above: a, b"],
	process: ["of 2 heaps the highest; choose with --thread", "choose with --thread", "of 2 heaps the highest; choose a thread or heap above (all: section Heaps)"],
};
assert.deepEqual(Object.keys(CASES).sort(), [...kinds].sort());
const inPage = (note) => reportInPage({ title: "", recording: "", notes: [note], sections: [] }).notes[0];
for (const [kind, [text, option, wanted]] of Object.entries(CASES)) {
	assert.equal(inPage({ text, warning: true, action: { kind, text: option } }).text, wanted);
	assert.equal(inPage({ text, warning: true }).text, text, "without an action a note stands as it is");
}

let advised = 0;
for (const path of process.argv.slice(4)) {
	const report = read(path), page = reportInPage(report);
	report.sections.forEach((section, i) => section.notes.forEach((note, k) => {
		const shown = page.sections[i].notes[k];
		advised += note.action !== undefined;
		assert.equal(shown.text.includes("--"), note.text.includes("--") && note.action?.kind === "record", note.text);
	}));
}
assert(advised >= 3, `${advised} notes with advice`);
console.log(`${kinds.length} kinds of advice, ${advised} notes with advice in reports`);
