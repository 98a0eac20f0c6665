/* follow.ts: notifications about a recording that is still being written: server-sent events, each with the latest state. */

/* The state of the recording. */
export interface State {
	revision: number; /* rises when the recording has grown */
	duration_ns: number;
	events: number; /* number of events of the program so far */
	ended: string | null; /* a sentence: how the run ended; null: it has not */
}

/* "lost": the server does not answer, and requests continue. */
export type Listener = (state: State | "lost") => void;

function parse(text: string): State | null {
	try {
		const state = JSON.parse(text) as Partial<State>;
		return typeof state.revision === "number" && typeof state.duration_ns === "number"
			? { revision: state.revision, duration_ns: state.duration_ns, events: state.events ?? 0, ended: state.ended ?? null } : null;
	} catch {
		return null;
	}
}

const AGAIN_MS = 2000;

/* Runs until the returned function is called. A complete recording never sends events. */
export function follow(url: string, listener: Listener): () => void {
	let source: EventSource | null = null, told = false, again = 0, over = false;
	function open(): void {
		source = new EventSource(url);
		source.addEventListener("grown", (event) => {
			const state = parse(event.data as string);
			if (state) {
				told = true;
				listener(state);
			}
		});
		source.addEventListener("error", () => {
			if (!told)
				return;
			listener("lost");
			if (source?.readyState === EventSource.CLOSED && !over) /* the browser has given up */
				again = window.setTimeout(open, AGAIN_MS);
		});
	}
	open();
	return () => {
		over = true;
		clearTimeout(again);
		source?.close();
	};
}
