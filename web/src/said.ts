/* said.ts: what reports say in the words of the command line, in the words of the page: here things are clicked. */
import type { Note, Report } from "./data";

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

const noteInPage = (note: Note): Note => ({ ...note, text: inPage(note.text) });

export function reportInPage(report: Report): Report {
	return {
		...report, notes: report.notes.map(noteInPage),
		sections: report.sections.map((section) => ({ ...section, title: inPage(section.title), notes: section.notes.map(noteInPage) })),
	};
}
