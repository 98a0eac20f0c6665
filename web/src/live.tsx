/* live.tsx: a recording that is still being written: the page repeats the requests for what it shows, at a bounded cost, unless
 * it is paused or hidden; a strip in the header shows the state.
 *
 * Requests are repeated in rounds. After a round, the page waits until that round took at most a twentieth of the time
 * since it began, so that expensive sections are refreshed rarely and cheap ones at once; while the program is idle, at
 * most a two-hundredth. */
import { useEffect, useMemo, useReducer } from "preact/hooks";
import type { DataSource } from "./data";
import { clean, figure } from "./figure";
import type { State } from "./follow";
import { go, type Selection } from "./selection";

const SHARE = 0.05, IDLE_SHARE = 0.005;
const LEAST_MS = 250, LOOK_MS = 50, GIVE_UP_MS = 60000;
const WINDOWS_NS = [5e9, 15e9, 60e9];

export class Live {
	state: State | null = null; /* the last reported state; null: the recording is complete */
	shown: State | null = null; /* the state that the page shows */
	lost = false;
	paused = false;
	private last = { end: -Infinity, took: 0 }; /* the previous round, in ms of performance.now() */
	private timer = 0;
	private running = false;
	private readonly stop: () => void;
	private readonly listeners = new Set<(round: boolean) => void>();

	constructor(private readonly data: DataSource) {
		this.stop = data.follow((told) => this.tell(told));
		document.addEventListener("visibilitychange", this.consider);
	}

	end(): void {
		this.stop();
		clearTimeout(this.timer);
		document.removeEventListener("visibilitychange", this.consider);
	}

	/* `round`: the page's content has changed as well, not only the state of the run. */
	listen(listener: (round: boolean) => void): () => void {
		this.listeners.add(listener);
		return () => this.listeners.delete(listener);
	}

	private changed(round: boolean): void {
		for (const listener of this.listeners)
			listener(round);
	}

	pause(paused: boolean): void {
		this.paused = paused;
		if (!paused)
			this.last.end = -Infinity; /* a requested update is not delayed */
		this.changed(false);
		this.consider();
	}

	private tell(told: State | "lost"): void {
		this.lost = told === "lost";
		if (told !== "lost")
			this.state = told;
		this.changed(false);
		this.consider();
	}

	private readonly consider = (): void => {
		if (this.running)
			return;
		clearTimeout(this.timer);
		if (this.paused || document.hidden || !this.state || this.state.revision === this.shown?.revision)
			return;
		const share = this.state.events !== this.shown?.events ? SHARE : IDLE_SHARE;
		const rest = this.state.ended ? 0 : Math.max(LEAST_MS, this.last.took * (1 / share - 1));
		const left = this.last.end + rest - performance.now();
		if (left > 0)
			this.timer = window.setTimeout(this.consider, left);
		else
			this.round();
	};

	private round(): void {
		const begun = performance.now(), before = this.data.spent();
		this.running = true;
		this.data.renew();
		this.shown = this.state;
		this.changed(true);
		const look = (): void => {
			const now = performance.now(), took = now - begun;
			if (this.data.waiting() && took < GIVE_UP_MS) {
				this.timer = window.setTimeout(look, LOOK_MS);
				return;
			}
			this.running = false;
			this.last = { end: now, took: this.data.spent() - before };
			this.consider();
		};
		this.timer = window.setTimeout(look, LOOK_MS);
	}
}

/* Without a state, the recording is complete, or nothing is known yet. Renders the page again in each round. */
export function useLive(data: DataSource): Live {
	const [, redraw] = useReducer((count: number) => count + 1, 0);
	const live = useMemo(() => new Live(data), [data]);
	useEffect(() => live.listen((round) => round && redraw(0)), [live]);
	useEffect(() => () => live.end(), [live]);
	return live;
}

/* --- the strip in the head ----------------------------------------------------------------------------------------- */

function standing(live: Live, state: State): { kind: string; text: string; behind: string } {
	const duration = figure("ns", state.duration_ns), shown = live.shown ?? state;
	const behind = live.paused ? figure("ns", Math.max(0, state.duration_ns - shown.duration_ns)) : "";
	if (live.lost)
		return state.ended
			? { kind: "lost", text: `sonde has exited. The page stays as it is; the recording is kept.`, behind: "" }
			: { kind: "lost", text: `No answer from sonde; recording continues. Retrying…`, behind: "" };
	if (state.ended)
		return { kind: "ended", text: `${clean(state.ended)} ${live.paused ? "The page was paused before the end." : ""}`.trim(), behind };
	return live.paused ? { kind: "paused", text: `paused at ${figure("ns", shown.duration_ns)}`, behind } : { kind: "live", text: `live, ${duration}`, behind };
}

const SPOKEN: Record<string, string> = { live: "The page follows the run", paused: "The page is paused" };

export function LiveStrip({ live, selection }: { live: Live; selection: Selection }) {
	const [, redraw] = useReducer((count: number) => count + 1, 0);
	const { state } = live;
	useEffect(() => live.listen(() => redraw(0)), [live]);
	if (!state)
		return null;
	const { kind, text, behind } = standing(live, state);
	return (
		<div class={`live ${kind}`} data-live={kind}>
			<span class="dot" aria-hidden="true" />
			<span class="standing" data-revision={live.shown?.revision}>{text}</span>
			{behind && <span class="behind">{behind} behind</span>}
			<span class="unseen" role="status">{SPOKEN[kind] ?? text}</span>
			{kind !== "lost" && (live.paused
				? <button type="button" onClick={() => live.pause(false)}>Catch up</button>
				: kind === "live" && <button type="button" onClick={() => live.pause(true)}>Pause</button>)}
			{kind === "live" && (
				<label>
					<span class="unseen">Part of the run </span>
					<select value={selection.last} onChange={(event) => go(selection, { last: event.currentTarget.value, from: "", to: "" })}>
						<option value="">the whole run</option>
						{WINDOWS_NS.map((ns) => <option value={String(ns)}>the last {figure("ns", ns)}</option>)}
						{selection.last && !WINDOWS_NS.includes(Number(selection.last)) && <option value={selection.last}>the last {figure("ns", Number(selection.last))}</option>}
					</select>
				</label>
			)}
		</div>
	);
}
