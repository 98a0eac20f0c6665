/* said.ts: what reports say in the words of the command line, in the words of the page: here things are clicked. */
import { type Column, type Note, type Report, type Row, type Section, value } from "./data";

/* What a sentence or title has, and what the page has in its place. */
const WORDS: [RegExp, string][] = [
	[/ \((--[a-z-]+|sonde advise --[a-z-]+)( [A-Z]+)?(: [a-z]+)?\)$/, ""],
	[/another function: --focus NAME/, "another function: click its name"],
	[/apart from it, by --heap-of: /, "apart from it, to be chosen above as the heap: "],
	[/--weigh left shows all that was left/, "stacks weighed by what was left show all of it"],
	[/--thread shows (it|one of them)/, "a thread that is chosen above shows $1"],
	[/--thread TID chooses the process of that thread, --heap-of the kind, --section heaps has all/, "a thread that is chosen above chooses its process, and the section Heaps has all"],
	[/choose a part with --from and --to/, "choose a part of the time"],
	[/leave some out with --from and --to/, "choose a part of the time"],
	[/--section ([a-z])([a-z-]*)/g, "the section $1$2"],
];

export function inPage(text: string): string {
	return WORDS.reduce((now, [from, to]) => now.replace(from, to), text);
}

/* A change in seconds has the unit that fits it: reports have numbers, which pictures and scripts go by. */
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

const noteInPage = (note: Note): Note => ({ ...note, text: inPage(note.text) });

export function reportInPage(report: Report): Report {
	return {
		...report, notes: report.notes.map(noteInPage),
		sections: report.sections.map((section) => ({ ...section, title: inPage(section.title), notes: section.notes.map(noteInPage) })).map(inUnits),
	};
}
