/* selection.ts: the state shared by all pages, in the URL's hash:
 * #/PAGE?from=NS&to=NS&thread=ID&focus=FUNCTION&weigh=WEIGHT&search=TEXT … A view is a link, and Back works. Going to another
 * page keeps the selected part of the run (from, to, thread). */
import { useEffect, useState } from "preact/hooks";

export interface Selection {
	page: string;
	section: string; /* of the page `section` */
	run: string; /* of two: "b"; else "" */
	from: string;
	to: string;
	last: string; /* ns before the end, of a run that goes on; instead of from */
	thread: string;
	focus: string;
	weigh: string;
	at: string; /* of the weight live: a moment */
	heap: string; /* whose blocks */
	search: string;
	view: string; /* how a page shows it; each has its own words */
	slice: string; /* of the timeline */
	zoom: string; /* the frame that is as wide as the picture */
	sort: string; /* SECTION:COLUMN, the least first with a "-" before the column: table.tsx */
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
	const left = selection.last ? (selection.to ? "last" : "from") : ""; /* which of them counts */
	for (const key of KEYS)
		if (selection[key] && key !== left)
			words.set(key, selection[key]);
	const query = words.toString();
	return "#/" + selection.page + (query ? "?" + query : "");
}

/* Who chooses a part of the time does not move on with the run any more. */
function still(change: Partial<Selection>): Partial<Selection> {
	return change.from !== undefined || change.to !== undefined ? { last: "" } : {};
}

/* `last` as the part of the time that it is now. */
export function windowed(selection: Selection, durationNs: number): Selection {
	const last = Number(selection.last);
	return selection.last && !selection.to ? { ...selection, from: last > 0 && last < durationNs ? String(Math.floor(durationNs - last)) : "" } : selection;
}

/* The same part of the run on another page. */
export function elsewhere(now: Selection, page: string, more: Partial<Selection> = {}): string {
	return link({ ...NOTHING, run: now.run, from: now.from, to: now.to, last: now.last, thread: now.thread, page, ...more });
}

/* What makes another picture, in which the zoomed frame would be any other. */
const OTHER = ["page", "section", "run", "from", "to", "thread", "weigh", "at", "heap"] as const;

/* A new place, which Back leaves. */
export function go(now: Selection, change: Partial<Selection>): void {
	const zoom = OTHER.some((key) => change[key] !== undefined && change[key] !== now[key]) ? "" : now.zoom;
	location.hash = link({ ...now, zoom, ...still(change), ...change });
}

/* The same place, more precisely: typing adds no history entries. */
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
