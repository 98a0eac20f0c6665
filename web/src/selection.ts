/* selection.ts: the state shared by all pages, in the URL's hash:
 * #/PAGE?from=NS&to=NS&thread=ID&focus=FUNCTION&weigh=WEIGHT&search=TEXT … A view is a link, and Back works. Going to another
 * page keeps the selected part of the run (from, to, thread). */
import { useEffect, useState } from "preact/hooks";

export interface Selection {
	page: string;
	section: string; /* id, for the page `section` */
	run: string; /* "b" = the second of two recordings; else "" */
	from: string;
	to: string;
	last: string; /* of a live run: ns before its end; replaces `from` */
	thread: string;
	focus: string;
	weigh: string;
	at: string; /* for the metric `live`: the time */
	heap: string; /* the kind of heap */
	search: string;
	view: string; /* the variant of a page; the words are the page's own */
	slice: string; /* the selected slice of the timeline */
	zoom: string; /* the frame that fills the picture's width */
	sort: string; /* SECTION:COLUMN, with a "-" before the column for ascending order (table.tsx) */
}

const KEYS = ["section", "run", "from", "to", "last", "thread", "focus", "weigh", "at", "heap", "search", "view", "slice", "zoom", "sort"] as const;
export const NOTHING: Selection = {
	page: "overview", section: "", run: "", from: "", to: "", last: "", thread: "", focus: "", weigh: "", at: "", heap: "", search: "", view: "", slice: "", zoom: "", sort: "",
};

export function parse(hash: string): Selection {
	const [page, query] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
	const found: Selection = { ...NOTHING, page: page || "overview" };
	const words = new URLSearchParams(query ?? "");
	for (const key of KEYS)
		found[key] = words.get(key) ?? "";
	return found;
}

export function link(selection: Selection): string {
	const words = new URLSearchParams();
	const left = selection.last ? (selection.to ? "last" : "from") : ""; /* whether `last` or `from` applies */
	for (const key of KEYS)
		if (selection[key] && key !== left)
			words.set(key, selection[key]);
	const query = words.toString();
	return "#/" + selection.page + (query ? "?" + query : "");
}

/* Selecting a time range stops following the end of a live run. */
function still(change: Partial<Selection>): Partial<Selection> {
	return change.from !== undefined || change.to !== undefined ? { last: "" } : {};
}

/* Converts `last` to the time range that it currently means. */
export function windowed(selection: Selection, durationNs: number): Selection {
	const last = Number(selection.last);
	return selection.last && !selection.to ? { ...selection, from: last > 0 && last < durationNs ? String(Math.floor(durationNs - last)) : "" } : selection;
}

/* The same part of the run on another page. */
export function elsewhere(now: Selection, page: string, more: Partial<Selection> = {}): string {
	return link({ ...NOTHING, run: now.run, from: now.from, to: now.to, last: now.last, thread: now.thread, page, ...more });
}

/* A change of any of these makes another picture, in which the zoomed frame means nothing. */
const OTHER = ["page", "section", "run", "from", "to", "thread", "weigh", "at", "heap"] as const;

/* Adds a history entry, so that Back returns to the previous state. */
export function go(now: Selection, change: Partial<Selection>): void {
	const zoom = OTHER.some((key) => change[key] !== undefined && change[key] !== now[key]) ? "" : now.zoom;
	location.hash = link({ ...now, zoom, ...still(change), ...change });
}

/* Replaces the history entry: typing adds none. */
export function refine(now: Selection, change: Partial<Selection>): void {
	history.replaceState(null, "", link({ ...now, ...still(change), ...change }));
	window.dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useSelection(): Selection {
	const [selection, set] = useState(() => parse(location.hash));
	useEffect(() => {
		const moved = () => set(parse(location.hash));
		window.addEventListener("hashchange", moved);
		return () => window.removeEventListener("hashchange", moved);
	}, []);
	return selection;
}
