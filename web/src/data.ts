/* data.ts: the only access to data: over HTTP from `sonde view`, or from the page itself (`sonde report -f html`). In
 * the latter case, only answers about the whole run exist, and a request for a part is rejected with a message. */
import type { Unit } from "./figure";
import { follow, type Listener } from "./follow";
import { reportInPage } from "./said";
import type { Selection } from "./selection";
import { type Arrows, decode, type Found, type Lanes, type Path, type Tiles, type View, type Wanted } from "./tiles";
import { FileLanes, packed } from "./tiles_file";

/* The action of a note: `text` is the part of the note that names command-line options. */
export interface Action {
	kind: "record" | "time" | "thread" | "function" | "section" | "metric" | "heap" | "process";
	text: string;
}

export interface Note {
	text: string;
	warning: boolean;
	action?: Action;
}

export interface Column {
	key: string;
	title: string;
	unit: Unit;
	basis: "measured" | "estimated" | "modelled";
}

export type Value = string | number | null;

export interface Row {
	plus_minus?: Record<string, number>;
	absent?: Record<string, string | null>;
	[key: string]: Value | Record<string, number> | Record<string, string | null> | undefined;
}

export interface Table {
	id: string;
	title: string;
	kind: "table";
	notes: Note[];
	columns: Column[];
	omitted: number;
	rows: Row[];
}

export interface Node {
	parent: number | null;
	name: string;
	module: string;
	file: string;
	line: number;
	self: number;
	total: number;
	count: number;
}

export interface Tree {
	id: string;
	title: string;
	kind: "tree";
	notes: Note[];
	value: string;
	unit: Unit;
	nodes: Node[];
}

export type Section = Table | Tree;

/* Additional fields of a comparison (absent in other reports); null if unknown. */
export interface Verdict {
	verdict?: string;
	speedup?: number | null;
	comparable?: number;
}

export interface Report extends Verdict {
	title: string;
	recording: string;
	notes: Note[];
	sections: Section[];
}

export interface Weight {
	name: string;
	title: string;
	unit: Unit;
	of_heap: boolean;
	in_range: boolean; /* supports a time range */
}

/* A thread's samples in order of time (docs/UI.md, /api/stacks). */
export interface Stacks {
	count: number;
	omitted: number; /* later samples, which are not in the answer */
	beside_ns: number;
	time_ns: number[];
	weight_ns: number[];
	node: number[]; /* leaf of the stack; -1: no stack */
	nodes: { parent: number[]; function: number[] };
	functions: { name: string; module: string; file: string; line: number }[];
}

export interface Recording {
	version: number; /* of this answer's form */
	file: string;
	command: string;
	duration_ns: number;
	processes: { id: number; pid: number; name: string }[];
	threads: { id: number; process: number; tid: number; name: string; start_ns: number; end_ns: number }[];
	sections: string[];
	weights?: Weight[]; /* available metrics of stacks, the default first */
	heaps?: string[]; /* kinds of heaps in the recording */
	environment?: { name: string; value: string }[]; /* the recording machine, and the options of the recording */
	timeline?: boolean; /* there are tracks */
}

/* One of the two recordings of `sonde view A B`. */
export interface Run {
	run: "a" | "b";
	file: string;
	command: string;
}

export interface DataSource {
	inFile: boolean; /* the page is a file: it may lack data that the recording has */
	recording(): Promise<Recording>;
	report(sections: string[], selection: Partial<Selection>, limit?: number): Promise<Report>;
	runs(): Promise<Run[]>;
	of(run: string): DataSource; /* the data source of run b, or of run a for "" and "a" */
	diff(sections: string[], limit: number): Promise<Report>; /* no sections given: all except the call tree */
	follow(listener: Listener): () => void; /* notifies about a recording that is still being written */
	renew(): void; /* the recording has grown: forgets previous answers */
	waiting(): number; /* number of pending requests */
	spent(): number; /* total time with pending requests, in ms */
	stacks(thread: string, from: string, to: string, limit: number): Promise<Stacks>;
	lanes(since?: string): Promise<Lanes>; /* `since`: the version of the tracks to compare with */
	tiles(view: View, abort?: AbortSignal): Promise<Tiles>;
	find(wanted: Wanted): Promise<Found>;
	arrows(from: number, to: number, limit: number): Promise<Arrows>;
	path(from: number, to: number, limit: number): Promise<Path>;
}

export function value(row: Row, key: string): Value {
	const cell = row[key];
	return typeof cell === "string" || typeof cell === "number" ? cell : null;
}

export function text(row: Row, key: string): string {
	const cell = value(row, key);
	return cell === null ? "" : String(cell);
}

export function table(report: Report | null, id: string): Table | null {
	const found = report?.sections.find((section) => section.id === id);
	return found?.kind === "table" ? found : null;
}

const ASKED = ["from", "to", "thread", "focus", "weigh", "at", "heap"] as const;
const KEPT = 24; /* cached answers, so that Back is immediate */

/* Adds the run to a URL; requests about both runs have none. */
function ofRun(url: string, run: string): string {
	return run !== "b" || /^api\/(runs|diff)/.test(url) ? url : url + (url.includes("?") ? "&" : "?") + "run=b";
}

export function overHttp(run = ""): DataSource {
	let other: DataSource | null = null;
	const answers = new Map<string, Promise<unknown>>();
	let waiting = 0, since = 0, spent = 0;
	function waits(change: 1 | -1): void {
		if (waiting === 0)
			since = performance.now();
		waiting += change;
		if (waiting === 0)
			spent += performance.now() - since;
	}
	async function open(url: string, signal?: AbortSignal): Promise<Response> {
		let response: Response;
		try {
			waits(1);
			response = await fetch(ofRun(url, run), { credentials: "same-origin", signal: signal ?? null });
		} catch (reason) {
			throw signal?.aborted ? reason : new Error("No answer from sonde: is `sonde view` still running?");
		} finally {
			waits(-1);
		}
		if (response.ok)
			return response;
		const body = await response.json().catch(() => null);
		throw new Error(typeof body?.error === "string" ? body.error : `sonde answered with ${response.status}`);
	}
	async function ask(url: string): Promise<unknown> {
		const body = await (await open(url)).json().catch(() => null);
		if (body === null)
			throw new Error("sonde's answer was cut off");
		return body;
	}
	const said = (answer: unknown): unknown => reportInPage(answer as Report);
	function kept(url: string, made = (answer: unknown): unknown => answer): Promise<unknown> {
		let answer = answers.get(url);
		if (!answer) {
			answer = ask(url).then(made);
			answers.set(url, answer);
			answer.catch(() => answers.delete(url));
			if (answers.size > KEPT)
				answers.delete(answers.keys().next().value as string);
		}
		return answer;
	}
	const mine: DataSource = {
		inFile: false,
		recording: () => kept("api/recording") as Promise<Recording>,
		runs: async () => (await kept("api/runs") as { runs: Run[] }).runs,
		of: (wanted) => (wanted !== "b" || run === "b" ? mine : other ??= overHttp("b")),
		diff: (sections, limit) => kept("api/diff?" + (sections.length ? `section=${sections.join(",")}&` : "") + `limit=${limit}`, said) as Promise<Report>,
		follow: (listener) => follow("api/events", listener),
		renew: () => answers.clear(),
		waiting: () => waiting,
		spent: () => spent,
		report(sections, selection, limit) {
			const words = new URLSearchParams({ section: sections.join(",") });
			for (const key of ASKED)
				if (selection[key])
					words.set(key, selection[key] as string);
			if (limit)
				words.set("limit", String(limit));
			return kept("api/report?" + words.toString(), said) as Promise<Report>;
		},
		stacks(thread, from, to, limit) {
			const words = Object.entries({ thread, from, to, limit: String(limit) }).filter(([, word]) => word);
			return kept("api/stacks?" + new URLSearchParams(words).toString()) as Promise<Stacks>;
		},
		lanes: (since) => kept("api/lanes" + (since ? `?since=${since}` : "")) as Promise<Lanes>,
		tiles: async (view, abort) => decode(await (await open("api/tiles?" + written(view), abort)).arrayBuffer()),
		find: (wanted) => kept("api/find?" + written(wanted)) as Promise<Found>,
		arrows: (from, to, limit) => kept("api/arrows?" + written({ from, to, limit })) as Promise<Arrows>,
		path: (from, to, limit) => kept("api/path?" + written({ from, to, limit })) as Promise<Path>,
	};
	return mine;
}

/* Parameters; omitted ones are not sent. */
function written(words: object): string {
	return Object.entries(words).filter(([, word]) => word !== undefined).map(([name, word]) => `${name}=${String(word)}`).join("&");
}

/* The data embedded in the page: the recording with its report and, if they fit, the tracks of the timeline. */
/* Sections that are part of the answer for another section. */
const COME_WITH: Record<string, string> = { "zone-durations": "zone-histogram", roofs: "roofline", "device-roofs": "roofline" };

export function inFile(content: Promise<string>, timeline: () => Promise<ArrayBuffer | null>): DataSource {
	const held = content.then((text) => JSON.parse(text) as { recording: Recording; report: Report })
		.then(({ recording, report }) => ({ recording, report: reportInPage(report) }));
	let read: Promise<FileLanes> | null = null;
	const lanes = () => (read ??= timeline().then(async (found) => {
		if (!found)
			throw new Error(`The timeline did not fit into this file, or there is none: open sonde view ${(await held).recording.file}.`);
		return new FileLanes(found);
	}));
	const mine: DataSource = {
		inFile: true,
		runs: () => Promise.resolve([]),
		of: () => mine,
		diff: () => Promise.reject(new Error("This file holds one recording. sonde view A B compares two.")),
		recording: async () => (await held).recording,
		follow: () => () => undefined,
		renew: () => undefined,
		waiting: () => 0,
		spent: () => 0,
		async report(sections, selection, limit) {
			const asked = ASKED.filter((key) => selection[key]), { recording, report } = await held;
			if (asked.length)
				throw new Error(`This file holds only the whole run; for another ${asked.join(", ")} open sonde view ${recording.file}.`);
			const wanted = new Set(sections), most = limit ?? Infinity;
			const cut = (section: Section): Section => section.kind === "tree" || section.rows.length <= most
				? section : { ...section, rows: section.rows.slice(0, most), omitted: section.omitted + section.rows.length - most };
			return { ...report, sections: report.sections.filter(({ id }) => wanted.has(id) || wanted.has(COME_WITH[id] ?? "")).map(cut) };
		},
		lanes: async () => (await lanes()).head,
		tiles: async (view) => (await lanes()).tiles(view),
		find: async (wanted) => (await lanes()).find(wanted),
		arrows: async (from, to, limit) => (await lanes()).arrows(from, to, limit),
		path: async (from, to, limit) => (await lanes()).path(from, to, limit),
		stacks: async () => {
			throw new Error(`This file holds no samples in time order: open sonde view ${(await held).recording.file}.`);
		},
	};
	return mine;
}

export function source(): DataSource {
	const inside = document.getElementById("sonde-data"), lanes = () => packed("sonde-lanes");
	if (inside?.textContent)
		return inFile(Promise.resolve(inside.textContent), lanes);
	return document.getElementById("sonde-data-gzip")
		? inFile(packed("sonde-data-gzip").then((found) => new TextDecoder().decode(found ?? new ArrayBuffer(0))), lanes) : overHttp();
}
