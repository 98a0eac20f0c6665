/* said.ts: replaces command-line options in the text of reports by things to click on the page. */
import { type Action, type Column, type Note, type Report, type Row, type Section, value } from "./data";

/* What a note shows instead of the part that advises an option; null: unchanged, because it has to be typed. */
const WORDS: Record<Action["kind"], ((text: string) => string) | null> = {
	record: null,
	time: () => "choose a part of the time",
	thread: () => "a thread that is chosen above",
	function: () => "click its name",
	section: (text) => `the section ${text.slice("--section ".length)}`,
	metric: (text) => `the metric ${text.slice("--metric ".length)}`,
	heap: () => "choose another heap above",
	process: () => "choose a thread or heap above (all: section Heaps)",
};

export function noteInPage(note: Note): Note {
	const words = note.action && WORDS[note.action.kind];
	return words && note.action ? { text: note.text.replace(note.action.text, () => words(note.action!.text)), warning: note.warning } : note;
}

/* Shows changes in seconds in a suitable unit: reports have plain numbers for pictures and scripts. */
function inUnits(section: Section): Section {
	if (section.kind !== "table" || !section.columns.some(({ key }) => key === "change_s"))
		return section;
	const columns = section.columns.map((column): Column => (column.key === "change_s" ? { ...column, key: "change_ns", title: "change", unit: "ns" } : column));
	const rows = section.rows.map((row): Row => {
		const change = value(row, "change_s"), half = row.plus_minus?.["change_s"], absent = row.absent?.["change_s"];
		return {
			...row, change_ns: typeof change === "number" ? change * 1e9 : null,
			...(half !== undefined && { plus_minus: { ...row.plus_minus, change_ns: half * 1e9 } }), ...(absent !== undefined && { absent: { ...row.absent, change_ns: absent } }),
		} as Row;
	});
	return { ...section, columns, rows };
}

export function reportInPage(report: Report): Report {
	return {
		...report, notes: report.notes.map(noteInPage),
		sections: report.sections.map((section) => ({ ...section, notes: section.notes.map(noteInPage) })).map(inUnits),
	};
}
