/* timeline_store.ts: the tiles that are available, the tiles that are requested, and the choice of what to request
 * next.
 *
 * A tile is TILE_PX pixels of one track at a power of two of ns per pixel (its level), aligned to its own length, so that a
 * moving window finds existing tiles again. One request asks for all missing tracks of a column of tiles. Few requests
 * are pending at a time, and a slow request for tiles that are not visible any more is cancelled. If the tiles need too
 * much memory, the tiles that were not drawn for the longest time are dropped. If the recording grows, a tile keeps the
 * rows before the change in its track, and only later ones are requested (tiles.ts: cutOf); tracks that lack little are
 * requested together, so that they do not wait for the other tracks. No function here blocks: a frame draws what is
 * available, and `changed` is called when more has arrived.
 */
import type { DataSource } from "./data";
import { type Bins, cutOf, joined, type Lanes, sizeOf, type Tiles } from "./tiles";
import type { Window } from "./timeline_view";

export const TILE_PX = 512;
const ROOM_B = 96 << 20, AT_ONCE = 3, LANES_MOST = 48, LEVELS = 2 ** 40;
const NEAR_PX = 64; /* maximum missing pixels of a track that counts as nearly complete */
const PATIENCE_MS = 250, TRIES = 3, REST_MS = 400;

export interface Tile {
	lane: number;
	level: number;
	index: number;
	bins: Bins;
	coarse: boolean; /* from a quick request: must be requested again */
	cut?: number; /* must be requested again from this time on: the recording has grown */
	size: number;
	seen: number; /* the last frame that needed it */
}

interface Ask {
	level: number;
	index: number;
	lanes: number[];
	quick: boolean;
	from?: number; /* request only from this time on: earlier rows stay */
}

interface Flight extends Ask {
	abort: AbortController;
	seen: number;
	born: number; /* start time in ms */
}

/* The level at which a pixel of the screen covers at least a pixel of a tile. */
export function levelOf(nsAPixel: number): number {
	return Math.max(0, Math.floor(Math.log2(nsAPixel)));
}

export function spanOf(level: number): number {
	return TILE_PX * 2 ** level;
}

function keyOf(level: number, index: number): number {
	return level * LEVELS + index;
}

/* Which part of a tile must be requested again if its track's bins have changed from a time on. */
function stale(tile: Tile, changed: number | null): { coarse: boolean; cut?: number } {
	if (tile.coarse)
		return { coarse: true };
	const cut = Math.min(tile.cut ?? Infinity, cutOf(tile.bins, changed, 2 ** tile.level));
	return cut === -Infinity ? { coarse: true } : cut < (tile.index + 1) * spanOf(tile.level) ? { coarse: false, cut } : { coarse: false };
}

export class Store {
	error = "";
	asked = 0; /* number of requests since the page was opened */
	private held = new Map<number, Map<number, Tile>>(); /* by track, then by level and position */
	private flights: Flight[] = [];
	private size = 0;
	private frame = 0;
	private stopped = false;
	private given: number[] = []; /* times of cancelled requests, on which the server may still work */
	private failures = 0; /* consecutive ones */
	private restsUntil = 0;
	private nudged = 0;
	private top: number;
	private duration: number;
	private made: string | undefined;
	constructor(private data: DataSource, lanes: Lanes, private changed: () => void) {
		const { duration_ns: duration } = lanes;
		this.duration = duration;
		this.made = lanes.made;
		this.top = Math.max(0, Math.ceil(Math.log2(Math.max(duration, 1) / TILE_PX)));
	}

	/* Takes over the tiles of the store of the shorter recording: these are drawn, and are requested again from the
	 * time on at which they have changed. `now` maps an old track to its new id (undefined: gone), and to the time
	 * from which its bins have changed (null: unchanged). */
	follow(before: Store, now: (lane: number) => { lane: number | undefined; changed: number | null } | undefined): void {
		for (const [id, of] of before.held) {
			const { lane, changed = 0 } = now(id) ?? {};
			if (lane === undefined)
				continue;
			this.held.set(lane, new Map([...of].map(([key, tile]) => [key, { ...tile, lane, ...stale(tile, changed), seen: 0 }])));
			for (const tile of of.values())
				this.size += tile.size;
		}
	}

	/* What is available for a tile: the tile itself, or the smallest tile that contains it. */
	best(lane: number, level: number, index: number): Tile | null {
		const of = this.held.get(lane);
		for (let up = level; of && up <= this.top; up++) {
			const tile = of.get(keyOf(up, Math.floor(index / 2 ** (up - level))));
			if (tile) {
				tile.seen = this.frame;
				return tile;
			}
		}
		return null;
	}

	/* The columns of a level that a window covers. */
	columns({ from, to }: Window, level: number): [first: number, last: number] {
		const span = spanOf(level), most = Math.floor(Math.max(0, this.duration - 1) / span);
		return [Math.max(0, Math.floor(from / span)), Math.min(most, Math.floor(to / span))];
	}

	/* Announces what a frame will draw: missing tiles are requested, first the whole run, then what is visible, then
	 * what lies next to, above and below it. */
	want(view: Window, level: number, lanes: number[]): void {
		this.frame++;
		const at = Math.min(level, this.top), asks: Ask[] = [];
		const add = (level: number, index: number) => {
			for (let i = 0; i < lanes.length; i += LANES_MOST)
				asks.push({ level, index, lanes: lanes.slice(i, i + LANES_MOST), quick: true });
		};
		add(this.top, 0);
		const [first, last] = this.columns(view, at), middle = (first + last) / 2, near: number[] = [];
		for (let index = first; index <= last; index++)
			near.push(index);
		near.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
		near.forEach((index) => add(at, index));
		this.ahead(view, at, first, last, add);
		this.go(asks);
		this.forget();
	}

	/* True if all tiles of a frame are available. */
	covers(view: Window, level: number, lanes: number[]): boolean {
		const at = Math.min(level, this.top), [first, last] = this.columns(view, at);
		for (const lane of lanes)
			for (let index = first; index <= last; index++)
				if (!this.held.get(lane)?.has(keyOf(at, index)))
					return false;
		return true;
	}

	private ahead(view: Window, level: number, first: number, last: number, add: (level: number, index: number) => void): void {
		const [, most] = this.columns({ from: 0, to: this.duration }, level);
		if (last < most)
			add(level, last + 1);
		if (first > 0)
			add(level, first - 1);
		if (level + 1 < this.top) {
			const [low, high] = this.columns(view, level + 1);
			for (let index = low; index <= high; index++)
				add(level + 1, index);
		}
		if (level > 0) {
			const middle = (view.from + view.to) / 2, quarter = (view.to - view.from) / 4;
			const [low, high] = this.columns({ from: middle - quarter, to: middle + quarter }, level - 1);
			for (let index = low; index <= high; index++)
				add(level - 1, index);
		}
	}

	/* First requests everything quickly, then requests coarse tiles again in full. */
	private go(asks: Ask[]): void {
		const missing: Ask[] = [], coarse: Ask[] = [];
		for (const ask of asks) {
			const flying = this.flights.filter((flight) => flight.level === ask.level && flight.index === ask.index);
			flying.forEach((flight) => (flight.seen = this.frame));
			const key = keyOf(ask.level, ask.index), lacking: number[] = [], rough: number[] = [];
			const near: Tile[] = [], far: Tile[] = [];
			for (const lane of ask.lanes) {
				const tile = this.held.get(lane)?.get(key);
				if (tile)
					tile.seen = this.frame;
				if (tile && !tile.coarse && tile.cut === undefined || flying.some((flight) => flight.lanes.includes(lane)))
					continue;
				if (tile && !tile.coarse)
					((this.duration - tile.cut!) / 2 ** ask.level <= NEAR_PX ? near : far).push(tile);
				else
					(tile ? rough : lacking).push(lane);
			}
			for (const tiles of [near, far])
				if (tiles.length)
					coarse.push({ ...ask, lanes: tiles.map((tile) => tile.lane), quick: false, from: Math.min(...tiles.map((tile) => tile.cut!)) });
			if (lacking.length)
				missing.push({ ...ask, lanes: lacking });
			if (rough.length)
				coarse.push({ ...ask, lanes: rough, quick: false });
		}
		const free = AT_ONCE - this.leave();
		if (this.error || performance.now() < this.restsUntil)
			return;
		const now = missing.slice(0, Math.max(0, free));
		if (!missing.length && !this.flights.some((flight) => !flight.quick) && free > 0)
			now.push(...coarse.slice(0, 1)); /* one at a time, because it may take long */
		now.forEach((ask) => this.fly(ask));
	}

	/* Cancels slow requests that are not needed any more; returns how many requests the server may still work
	 * on. */
	private leave(): number {
		const now = performance.now(), late = (flight: Flight) => flight.seen !== this.frame && now - flight.born > PATIENCE_MS;
		this.given = this.given.filter((time) => now - time < 2 * PATIENCE_MS);
		for (const flight of this.flights.filter(late)) {
			flight.abort.abort();
			this.given.push(now);
		}
		if (this.given.length || this.flights.some((flight) => flight.seen !== this.frame))
			this.nudge();
		this.flights = this.flights.filter((flight) => !flight.abort.signal.aborted);
		return this.flights.length + this.given.length;
	}

	/* Checks again later, even if no answer arrives. */
	private nudge(): void {
		this.nudged ||= window.setTimeout(() => {
			this.nudged = 0;
			if (!this.stopped)
				this.changed();
		}, PATIENCE_MS);
	}

	private fly(ask: Ask): void {
		const flight: Flight = { ...ask, abort: new AbortController(), seen: this.frame, born: performance.now() };
		const span = spanOf(ask.level), pixel = 2 ** ask.level, begin = ask.index * span;
		const from = Math.max(begin, Math.floor((ask.from ?? 0) / pixel) * pixel);
		/* For a growing recording, whole tiles are requested, so that later requests have the same pixels. */
		const to = this.made ? begin + span : Math.min(begin + span, Math.max(Math.ceil(this.duration), 1));
		this.flights.push(flight);
		this.asked++;
		this.data.tiles({ lanes: ask.lanes, from, to, width: Math.max(1, Math.ceil((to - from) / pixel)), ...(this.made ? { made: this.made } : {}), ...(ask.quick ? { quick: 1 } : {}) }, flight.abort.signal).then(
			(bins) => this.take(flight, bins),
			(reason: Error) => flight.abort.signal.aborted || this.fail(flight, reason.message),
		);
	}

	private take(flight: Flight, bins: Tiles): void {
		this.flights = this.flights.filter((at) => at !== flight);
		if (this.stopped || flight.abort.signal.aborted)
			return;
		this.failures = 0;
		for (const lane of flight.lanes) {
			const found = bins.get(lane);
			if (!found) {
				this.fail(flight, "sonde's answer about the timeline lacks a track");
				return;
			}
			const of = this.held.get(lane) ?? new Map<number, Tile>(), before = of.get(keyOf(flight.level, flight.index));
			if (flight.from !== undefined && !(before?.cut !== undefined && before.cut >= flight.from))
				continue; /* the tile that it extends is gone */
			const all = flight.from === undefined ? found : joined(before!.bins, before!.cut!, found);
			const tile: Tile = { lane, level: flight.level, index: flight.index, bins: all, coarse: !!bins.coarse, size: sizeOf(all), seen: this.frame };
			this.size -= before?.size ?? 0;
			this.held.set(lane, of.set(keyOf(flight.level, flight.index), tile));
			this.size += tile.size;
		}
		this.changed();
	}

	private fail(flight: Flight, why: string): void {
		this.flights = this.flights.filter((at) => at !== flight);
		if (++this.failures > TRIES)
			this.error = why;
		else
			this.restsUntil = performance.now() + REST_MS * this.failures; /* the server may be busy */
		window.setTimeout(() => this.stopped || this.changed(), this.error ? 0 : REST_MS * this.failures);
	}

	again(): void {
		this.error = "";
		this.failures = 0;
		this.changed();
	}

	waiting(): boolean {
		return this.flights.length > 0 || this.given.length > 0 || performance.now() < this.restsUntil;
	}

	bytes(): number {
		return this.size;
	}

	/* Drops tiles until three quarters of the limit are used, so that this does not happen in every frame. */
	private forget(): void {
		if (this.size <= ROOM_B)
			return;
		const all = [...this.held.values()].flatMap((of) => [...of.values()]).sort((a, b) => a.seen - b.seen);
		for (const tile of all) {
			if (this.size <= ROOM_B * 0.75 || tile.seen === this.frame)
				break;
			this.held.get(tile.lane)?.delete(keyOf(tile.level, tile.index));
			this.size -= tile.size;
		}
	}

	stop(): void {
		this.stopped = true;
		this.flights.forEach((flight) => flight.abort.abort());
		this.flights = [];
	}
}
