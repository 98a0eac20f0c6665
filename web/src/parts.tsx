/* parts.tsx: shared by all pages: the data source, a figure with its unit or the reason for its absence, notes, and
 * the loading indicator. */
import { createContext, type ComponentChildren } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { type Column, type DataSource, type Note, type Recording, type Report, type Row, type Run, value } from "./data";
import { clean, figure } from "./figure";
import { link, type Selection } from "./selection";

/* Whether zones can be compared with ceilings. They cannot if no work was counted, or if the machine was not
 * measured. */
export type Roofline = "" | "unmeasured" | "there";

export interface World {
	data: DataSource;
	recording: Recording;
	runs: Run[]; /* one, or two to compare; empty: not known yet */
	selection: Selection;
	dark: boolean;
	roofline: Roofline;
	live: boolean; /* the recording is still being written */
	revision: number; /* increases when a live recording is requested again */
}

export const WorldContext = createContext<World>(null as unknown as World);
export const useWorld = () => useContext(WorldContext);

export interface Answer {
	report: Report | null;
	error: string;
	waiting: boolean;
	again(): void;
}

/* A report of some sections for the selection; while a new report is pending, the previous one. */
export function useReport(sections: string[], selection: Partial<Selection>, limit?: number): Answer {
	const { data, revision } = useWorld();
	const [state, set] = useState({ report: null as Report | null, error: "", waiting: true });
	const [tries, retry] = useState(0);
	const { from, to, last, thread, focus, weigh, at, heap } = selection;
	const key = JSON.stringify([sections, last ? `last ${last}` : from, to, thread, focus, weigh, at, heap, limit, tries]);
	const asked = useRef(""); /* the key of the answer that is shown or pending */
	useEffect(() => {
		let current = true;
		const again = asked.current === key; /* the recording has grown: the old answer stays meanwhile */
		asked.current = key;
		if (!again)
			set((before) => ({ ...before, waiting: true }));
		data.report(sections, { from, to, thread, focus, weigh, at, heap }, limit).then(
			(report) => current && set({ report, error: "", waiting: false }),
			(error: Error) => current && set((before) => again && before.report ? { ...before, waiting: false } : { report: null, error: error.message, waiting: false }),
		);
		return () => {
			current = false;
		};
	}, [data, key, revision]);
	return { ...state, again: () => retry(tries + 1) };
}

/* Renders the answer, or the reason why there is none yet. */
export function Await({ answer, children }: { answer: Answer; children: (report: Report) => ComponentChildren }) {
	const { selection } = useWorld();
	const chosen = selection.from || selection.to || selection.thread || selection.focus || selection.weigh || selection.at;
	if (answer.error)
		return (
			<div class="failed" role="alert">
				<p>{clean(answer.error)}</p>
				<p>
					<button type="button" onClick={answer.again}>Try again</button>{" "}
					{chosen && <a href={link({ ...selection, from: "", to: "", thread: "", focus: "", weigh: "", at: "", heap: "" })}>Show the whole run</a>}
				</p>
			</div>
		);
	if (!answer.report)
		return <p class="wait" role="status">Loading…</p>;
	return <div class={answer.waiting ? "stale" : ""} aria-busy={answer.waiting}>{children(answer.report)}</div>;
}

/* A note; the part that is to be typed as an option is marked. */
function NoteText({ note }: { note: Note }) {
	const typed = note.action?.kind === "record" ? note.action.text : "", at = typed ? note.text.indexOf(typed) : -1;
	return at < 0 ? <>{clean(note.text)}</> : <>{clean(note.text.slice(0, at))}<code>{clean(typed)}</code>{clean(note.text.slice(at + typed.length))}</>;
}

export function Notes({ notes }: { notes: Note[] }) {
	if (!notes.length)
		return null;
	return (
		<ul class="notes">
			{notes.map((note) => (
				<li class={note.warning ? "warning" : ""}>
					{note.warning && <strong>Warning: </strong>}
					<NoteText note={note} />
				</li>
			))}
		</ul>
	);
}

/* The text of a cell: as `sonde report` writes it. */
export function said(row: Row, column: Column): string {
	const cell = value(row, column.key);
	if (column.key === "p" && typeof cell === "number" && cell >= 0 && cell < 0.005)
		return "<0.01"; /* a small share is never shown as 0 */
	return cell === null ? "–" : typeof cell === "string" ? clean(cell) : figure(column.unit, cell, row.plus_minus?.[column.key] ?? 0);
}

export function why(row: Row, column: Column): string {
	return value(row, column.key) === null ? clean(row.absent?.[column.key] ?? "not known") : "";
}

/* A shell command with a button that copies it. */
export function Command({ children }: { children: string }) {
	return <code class="command">{children}</code>;
}
