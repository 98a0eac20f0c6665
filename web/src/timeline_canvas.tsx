/* timeline_canvas.tsx: the tracks with their names: a canvas of the size of the viewport, which stays in place while the rows
 * scroll behind it, and the handlers for pointer, wheel and keys. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clean, figure, type Unit } from "./figure";
import type { Lanes } from "./tiles";
import type { Engine, Reading, Spot } from "./timeline_engine";
import { heightOf, inSight, type People, type Row } from "./timeline_layout";
import { type Window } from "./timeline_view";

const DRAG_PX = 4, ZOOM = 1.35, PAN = 0.18;

export interface Deeds {
	pick(spot: Spot | null): void;
	choose(range: Window): void;
	fold(key: string): void;
	search(): void;
	fit(): void;
	help(): void;
	escape(): void;
}

/* The description of a spot in words. */
export function sayName(lanes: Lanes, spot: { name: number }): string {
	return clean(lanes.names[spot.name]?.name ?? "") || "unnamed";
}

export function saySpot(lanes: Lanes, spot: Spot): string {
	const time = spot.length > 0 || spot.many > 1 ? `, ${figure("ns", spot.length)}` : "";
	return spot.many > 1
		? `${figure("count", spot.many)} slices within ${figure("ns", spot.length)}, the longest ${sayName(lanes, spot)}`
		: `${sayName(lanes, spot)}${time}, at ${figure("ns", spot.start)}`;
}

const UNITS: Record<string, Unit> = { ns: "ns", B: "bytes", "B/s": "bytes", J: "joules" };

export function sayReading(lanes: Lanes, { lane, least, most }: Reading): string {
	const unit = lanes.lanes[lane]?.unit ?? "", as = lanes.lanes[lane]?.kind === "cpu" ? "ratio" : UNITS[unit];
	const one = (value: number) => (as ? figure(as, value) + (unit === "B/s" ? "/s" : "") : figure("number", value) + (unit ? " " + clean(unit) : ""));
	return one(least) === one(most) ? one(most) : `${one(least)} to ${one(most)}`;
}

/* --- names of the lanes ---------------------------------------------------------------------------------------------- */

function Gutter({ rows, scroll, height, fold }: { rows: Row[]; scroll: number; height: number; fold: (key: string) => void }) {
	const [first, last] = inSight(rows, scroll - 40, scroll + height + 40);
	return (
		<>
			{rows.slice(first, last).map((row) => (
				<div key={row.lane ? row.lane.id : row.key} class={row.lane ? "lane" : row.key.startsWith("p") ? "lane process" : "lane curves"} style={{ top: `${row.top}px`, height: `${row.height}px` }}>
					{row.head && (
						<button type="button" aria-expanded={!row.folded} onClick={() => fold(row.key)} title={row.head}>
							<span aria-hidden="true">{row.folded ? "▸" : "▾"}</span> {row.head}
						</button>
					)}
					{row.title && <span class="what" title={row.title}>{row.title}</span>}
				</div>
			))}
		</>
	);
}

/* --- the pointer ----------------------------------------------------------------------------------------------------- */

interface Drag {
	x: number;
	time: number;
	pans: boolean;
	moved: boolean;
}

function usePointer(engine: Engine, deeds: Deeds, tell: (spot: Spot | null, reading: Reading | null, at: [number, number]) => void) {
	const drag = useRef<Drag | null>(null);
	const place = (event: PointerEvent): [number, number] => {
		const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
		return [event.clientX - box.left, event.clientY - box.top];
	};
	return {
		onPointerDown(event: PointerEvent) {
			if (event.button > 1)
				return;
			if (event.button === 1)
				event.preventDefault();
			const [x] = place(event);
			drag.current = { x, time: engine.timeAt(x), pans: event.shiftKey || event.button === 1, moved: false };
			(event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
		},
		onPointerMove(event: PointerEvent) {
			const [x, y] = place(event), held = drag.current;
			if (!held) {
				const spot = engine.spotAt(x, y);
				engine.over = spot;
				engine.redraw();
				tell(spot, spot ? null : engine.readingAt(x, y), [event.clientX, event.clientY]);
				return;
			}
			held.moved ||= Math.abs(x - held.x) >= DRAG_PX;
			if (!held.moved)
				return;
			tell(null, null, [0, 0]);
			if (held.pans) {
				const by = held.time - engine.timeAt(x);
				engine.go({ from: engine.view.from + by, to: engine.view.to + by }, true);
			} else {
				engine.chosen = range(held.time, engine.timeAt(x), engine.duration);
				engine.redraw();
			}
		},
		onPointerUp(event: PointerEvent) {
			const held = drag.current, [x, y] = place(event);
			drag.current = null;
			if (held && !held.moved)
				deeds.pick(engine.spotAt(x, y));
			else if (held && !held.pans)
				deeds.choose(range(held.time, engine.timeAt(x), engine.duration));
		},
		onPointerCancel() {
			drag.current = null;
		},
		onPointerLeave() {
			engine.over = null;
			engine.redraw();
			tell(null, null, [0, 0]);
		},
	};
}

function range(one: number, other: number, duration: number): Window {
	const from = Math.max(0, Math.floor(Math.min(one, other))), to = Math.min(duration, Math.ceil(Math.max(one, other)));
	return { from, to: Math.max(to, from + 1) };
}

/* The wheel scrolls the rows; with Ctrl, it zooms at the pointer; with Shift, or turned sideways, it moves along the
 * time. */
function useWheel(box: { current: HTMLElement | null }, canvas: { current: HTMLElement | null }, engine: Engine): void {
	useEffect(() => {
		const turned = (event: WheelEvent) => {
			const lines = event.deltaMode === 1 ? 16 : 1, x = event.clientX - (canvas.current?.getBoundingClientRect().left ?? 0);
			const sideways = event.deltaX || (event.shiftKey ? event.deltaY : 0);
			if (event.ctrlKey || event.metaKey)
				engine.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * lines * 0.004))), engine.timeAt(Math.max(0, x)), true);
			else if (sideways)
				engine.pan((sideways * lines) / engine.width, true);
			else
				return;
			event.preventDefault();
		};
		const at = box.current;
		at?.addEventListener("wheel", turned, { passive: false });
		return () => at?.removeEventListener("wheel", turned);
	}, [engine]);
}

/* --- keys ------------------------------------------------------------------------------------------------------------ */

/* Keys that work anywhere on the page, except in text fields. */
function useKeys(engine: Engine, deeds: Deeds): void {
	useEffect(() => {
		const pressed = (event: KeyboardEvent) => {
			const on = event.target as HTMLElement;
			if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(on.tagName) || on.closest?.("dialog"))
				return;
			const deed: Record<string, () => void> = {
				w: () => engine.zoom(1 / ZOOM), s: () => engine.zoom(ZOOM), a: () => engine.pan(-PAN), d: () => engine.pan(PAN),
				f: deeds.fit, "/": deeds.search, "?": deeds.help, escape: deeds.escape,
			};
			const act = deed[event.key.toLowerCase()];
			if (!act)
				return;
			event.preventDefault();
			act();
		};
		window.addEventListener("keydown", pressed);
		return () => window.removeEventListener("keydown", pressed);
	});
}

/* Arrow keys on the canvas: from slice to slice, from lane to lane. */
function walk(engine: Engine, deeds: Deeds, key: string): boolean {
	const now = engine.focus, rows = engine.rows.filter((row) => row.lane && row.lane.form !== "curve");
	if (!rows.length || !/^Arrow(Left|Right|Up|Down)$/.test(key))
		return false;
	const at = rows.findIndex((row) => row.lane!.id === now?.lane);
	const middle = now && now.start + now.length >= engine.view.from && now.start <= engine.view.to ? now.start : engine.view.from - 1;
	let found: Spot | null = null;
	if (at < 0 || !now) {
		for (let r = 0; r < rows.length && !found; r++)
			found = engine.beside(rows[r]!.lane!.id, engine.view.from - 1, 1);
	} else if (key === "ArrowLeft" || key === "ArrowRight") {
		found = engine.beside(now.lane, now.start, key === "ArrowRight" ? 1 : -1);
	} else {
		for (let r = at + (key === "ArrowDown" ? 1 : -1); rows[r] && !found; r += key === "ArrowDown" ? 1 : -1)
			found = engine.beside(rows[r]!.lane!.id, middle + 0.6, -1) ?? engine.beside(rows[r]!.lane!.id, middle, 1);
	}
	if (found)
		deeds.pick(found);
	return true;
}

/* --- the part of the page -------------------------------------------------------------------------------------------- */

interface Props {
	engine: Engine;
	lanes: Lanes;
	people: People;
	rows: Row[];
	deeds: Deeds;
}

export function Canvas({ engine, lanes, people, rows, deeds }: Props) {
	const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
	const [scroll, setScroll] = useState(0);
	const [size, setSize] = useState({ width: 800, height: 400 });
	const [told, setTold] = useState<{ spot: Spot | null; reading: Reading | null; at: [number, number] } | null>(null);
	useLayoutEffect(() => {
		const measure = () => canvas.current && box.current && setSize({ width: Math.max(50, canvas.current.parentElement!.clientWidth), height: Math.max(50, box.current.clientHeight) });
		measure();
		const watch = new ResizeObserver(measure);
		if (box.current)
			watch.observe(box.current);
		return () => watch.disconnect();
	}, []);
	useLayoutEffect(() => {
		Object.assign(engine, { rows, scroll, ...size });
		engine.redraw();
	}, [engine, rows, scroll, size]);
	useEffect(() => canvas.current ? engine.attach(canvas.current) : undefined, [engine]);
	/* Scrolls to the selected slice. */
	const focused = engine.focus;
	useEffect(() => {
		const row = rows.find((row) => row.lane && row.lane.id === focused?.lane);
		if (row && box.current && (row.top < box.current.scrollTop || row.top + row.height > box.current.scrollTop + box.current.clientHeight))
			box.current.scrollTop = Math.max(0, row.top - box.current.clientHeight / 2);
	}, [focused, rows]);
	useWheel(box, canvas, engine);
	useKeys(engine, deeds);
	const pointer = usePointer(engine, deeds, (spot, reading, at) => setTold(spot || reading ? { spot, reading, at } : null));
	const tall = heightOf(rows), over = told?.spot ?? told?.reading;
	return (
		<>
			<div class="lanes" ref={box} style={{ height: `min(${tall + 2}px, max(240px, calc(100vh - 300px)))` }}
				onScroll={(event) => setScroll(event.currentTarget.scrollTop)}>
				<div class="gutter" style={{ height: `${tall}px` }}><Gutter rows={rows} scroll={scroll} height={size.height} fold={deeds.fold} /></div>
				<div class="picture">
					<canvas ref={canvas} class="timeline" tabIndex={0} role="application" style={{ width: `${size.width}px`, height: `${size.height}px` }}
						aria-label="Timeline: arrow keys move between slices and tracks, W and S zoom, A and D move, a question mark shows all keys. The same data is available as a table."
						onKeyDown={(event) => !event.ctrlKey && !event.metaKey && walk(engine, deeds, event.key) && event.preventDefault()} {...pointer} />
				</div>
			</div>
			{told && over && (
				<div class="tip" aria-hidden="true" style={besides(told.at)}>
					<strong>{told.spot ? (told.spot.many > 1 ? `${figure("count", told.spot.many)} slices` : sayName(lanes, told.spot)) : sayReading(lanes, told.reading!)}</strong>
					<div>{told.spot ? saySpot(lanes, told.spot) : `at ${figure("ns", told.reading!.time)}`}</div>
					<div>{lanes.lanes[over.lane] ? people.lane(lanes.lanes[over.lane]!) : ""}</div>
				</div>
			)}
		</>
	);
}

function besides([x, y]: [number, number]): Record<string, string> {
	const side: Record<string, string> = x > window.innerWidth / 2 ? { right: `${window.innerWidth - x + 14}px` } : { left: `${x + 14}px` };
	return y > window.innerHeight * 0.65 ? { ...side, bottom: `${window.innerHeight - y + 14}px` } : { ...side, top: `${y + 14}px` };
}
