/* timeline_engine.ts: the timeline between frames: the visible range, where it is moving to, and when to draw. It knows nothing
 * of the page around it, and a frame never waits: missing data appears later. */
import type { DataSource } from "./data";
import { type Arrow, type Bins, firstAt, type Lane, type Lanes, type Slice, type Step } from "./tiles";
import { inSight, type Row, rowAt } from "./timeline_layout";
import { Painter, type Theme } from "./timeline_paint";
import { levelOf, spanOf, Store } from "./timeline_store";
import { clamped, panned, type Window, zoomed } from "./timeline_view";

const STILL_MS = 200, NEAR_PX = 4, SPARE_ROWS = 6, APPROACH = 0.3;

/* What is at a position: a slice, or several together. */
export interface Spot extends Slice {
	many: number;
	busy: number;
}

/* The value of a curve at a time. */
export interface Reading {
	lane: number;
	time: number;
	least: number;
	most: number;
}

export interface Listener {
	moved(view: Window): void; /* called in every frame in which the window moves */
	still(view: Window): void;
	painted(): void;
}

export class Engine {
	view: Window;
	rows: Row[] = [];
	scroll = 0;
	width = 1;
	height = 1;
	chosen: Window | null = null;
	focus: Slice | null = null;
	over: Slice | null = null;
	arrows: Arrow[] = [];
	path: Step[] = [];
	frames: number[] = []; /* durations of the latest frames in ms, for measurements of the page */
	store: Store;
	whole = false; /* the last frame was complete */
	private target: Window | null = null;
	private painter: Painter | null = null;
	private queued = 0;
	private rest = 0;
	private calm: boolean;
	constructor(data: DataSource, private lanes: Lanes, public theme: Theme, view: Window, private listener: Listener) {
		this.view = clamped(view, lanes.duration_ns);
		this.store = new Store(data, lanes, () => this.redraw());
		this.calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
	}

	/* Takes over the state of the engine of the shorter recording. If the new recording reports which tiles are
	 * still valid, these are kept; otherwise, all old tiles are drawn until they have been requested again. */
	follow(before: Engine): void {
		const was = new Map(this.lanes.since?.map(({ id, changed_ns }, lane) => [id, { lane, changed: changed_ns }]));
		const keyOf = (lane: Lane) => [lane.kind, lane.process, lane.thread, lane.depth, lane.title].join("\n");
		const ids = new Map(this.lanes.lanes.map((lane) => [keyOf(lane), lane.id]));
		Object.assign(this, { scroll: before.scroll, width: before.width, height: before.height, rows: before.rows });
		if (before.lanes.names.every(({ name }, i) => this.lanes.names[i]?.name === name)) /* slices use their indices */
			this.store.follow(before.store, (id) => this.lanes.since ? was.get(id) : { lane: ids.get(keyOf(before.lanes.lanes[id]!)), changed: 0 });
	}

	attach(canvas: HTMLCanvasElement): void {
		this.painter = new Painter(canvas);
		this.redraw();
	}

	get duration(): number {
		return this.lanes.duration_ns;
	}

	redraw(): void {
		if (!this.queued && this.painter)
			this.queued = requestAnimationFrame(() => this.frame());
	}

	/* Moves to a range: immediately if `atOnce` (following the pointer) or if reduced motion is preferred,
	 * otherwise in animated steps. */
	go(view: Window, atOnce = false): void {
		const to = clamped(view, this.duration);
		this.target = atOnce || this.calm ? null : to;
		if (!this.target)
			this.moveTo(to);
		this.redraw();
	}

	zoom(factor: number, at: number | null = null, atOnce = false): void {
		const now = this.target ?? this.view;
		this.go(zoomed(now, at ?? (now.from + now.to) / 2, factor, this.duration), atOnce);
	}

	pan(share: number, atOnce = false): void {
		const now = this.target ?? this.view;
		this.go(panned(now, (now.to - now.from) * share, this.duration), atOnce);
	}

	timeAt(x: number): number {
		return this.view.from + (x / this.width) * (this.view.to - this.view.from);
	}

	private moveTo(view: Window): void {
		this.view = view;
		this.listener.moved(view);
		window.clearTimeout(this.rest);
		this.rest = window.setTimeout(() => {
			this.listener.still(this.view);
			this.redraw();
		}, STILL_MS);
	}

	private approach(): void {
		if (!this.target)
			return;
		const { from, to } = this.view, gap = (this.target.to - this.target.from) / this.width / 2;
		const next = { from: from + (this.target.from - from) * APPROACH, to: to + (this.target.to - to) * APPROACH };
		if (Math.abs(next.from - this.target.from) < gap && Math.abs(next.to - this.target.to) < gap) {
			this.moveTo(this.target);
			this.target = null;
		} else {
			this.moveTo(next);
		}
	}

	private frame(): void {
		this.queued = 0;
		if (!this.painter)
			return;
		const began = performance.now();
		this.approach();
		const [first, last] = inSight(this.rows, this.scroll - 60, this.scroll + this.height + 60);
		const lanes: number[] = [];
		for (let r = Math.max(0, first - SPARE_ROWS); r < Math.min(this.rows.length, last + SPARE_ROWS); r++) {
			const lane = this.rows[r]!.lane;
			if (lane)
				lanes.push(lane.id);
		}
		const each = (this.view.to - this.view.from) / (this.width * (window.devicePixelRatio || 1));
		this.store.want(this.view, levelOf(each), lanes);
		this.whole = this.store.covers(this.view, levelOf(each), lanes);
		this.painter.draw({
			lanes: this.lanes, rows: this.rows, view: this.view, scroll: this.scroll, width: this.width, height: this.height,
			chosen: this.chosen, focus: this.focus, over: this.over, arrows: this.arrows, path: this.path,
		}, this.theme, this.store, this.target !== null);
		this.frames.push(performance.now() - began);
		if (this.frames.length > 2000)
			this.frames.splice(0, 1000);
		this.listener.painted();
		if (this.target || this.painter.labelsLeft)
			this.redraw();
	}

	/* --- what is where ---------------------------------------------------------------------------------------- */

	rowAt(y: number): Row | null {
		const row = this.rows[rowAt(this.rows, y + this.scroll)];
		return row && y + this.scroll < row.top + row.height ? row : null;
	}

	private binsAt(lane: number, time: number): Bins | null {
		const level = levelOf((this.view.to - this.view.from) / this.width / (window.devicePixelRatio || 1));
		return this.store.best(lane, level, Math.floor(Math.max(0, time) / spanOf(level)))?.bins ?? null;
	}

	/* The slice or instant at a position, or the nearest within a few pixels. */
	spotAt(x: number, y: number): Spot | null {
		const lane = this.rowAt(y)?.lane, time = this.timeAt(x), bins = lane && this.binsAt(lane.id, time);
		if (!lane || !bins || bins.form === "curve")
			return null;
		const near = ((this.view.to - this.view.from) / this.width) * NEAR_PX;
		let best = -1, least = near;
		for (let i = Math.max(0, firstAt(bins.start, time) - 2); i < bins.start.length && bins.start[i]! <= time + near; i++) {
			const end = bins.start[i]! + (bins.form === "slices" ? bins.length[i]! : 0);
			const far = time < bins.start[i]! ? bins.start[i]! - time : Math.max(0, time - end);
			if (far < least || (far === 0 && best < 0)) {
				best = i;
				least = far;
			}
		}
		return best < 0 ? null : spotOf(lane.id, bins, best);
	}

	readingAt(x: number, y: number): Reading | null {
		const lane = this.rowAt(y)?.lane, time = this.timeAt(x), bins = lane && this.binsAt(lane.id, time);
		if (!lane || bins?.form !== "curve")
			return null;
		const i = firstAt(bins.start, time + 1e-9) - 1;
		if (i < 0 || bins.start[i]! + bins.length[i]! < time)
			return null;
		return { lane: lane.id, time: bins.start[i]!, least: bins.least[i]!, most: bins.most[i]! };
	}

	/* The next drawn slice of a track to the right or left of a time. */
	beside(lane: number, time: number, step: 1 | -1): Spot | null {
		const bins = this.binsAt(lane, Math.min(Math.max(time, this.view.from), this.view.to));
		if (!bins || bins.form === "curve" || !bins.start.length)
			return null;
		const i = step > 0 ? firstAt(bins.start, time + 0.5) : firstAt(bins.start, time - 0.5) - 1;
		return i >= 0 && i < bins.start.length ? spotOf(lane, bins, i) : null;
	}

	stop(): void {
		cancelAnimationFrame(this.queued);
		window.clearTimeout(this.rest);
		this.painter = null;
		this.store.stop();
	}
}

function spotOf(lane: number, bins: Exclude<Bins, { form: "curve" }>, i: number): Spot {
	const length = bins.form === "slices" ? bins.length[i]! : 0;
	return { lane, start: bins.start[i]!, length, name: bins.name[i]!, many: bins.many[i]!, busy: bins.form === "slices" ? bins.busy[i]! : 1 };
}
