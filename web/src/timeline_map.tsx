/* timeline_map.tsx: the area above the tracks: a minimap of the whole run, on which the visible range can be dragged
 * and resized, and the ruler of the visible range. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { DataSource } from "./data";
import { figure } from "./figure";
import type { Bins, Lane, Lanes } from "./tiles";
import type { Engine } from "./timeline_engine";
import { css, type Theme } from "./timeline_paint";
import { moment, ticks, type Window } from "./timeline_view";

const MAP = 34, RULER = 20, BINS = 600, LANES_MOST = 40, GRIP_PX = 6, LEAST_PX = 3;
const SOURCES: ((lane: Lane) => boolean)[] = [
	(lane) => lane.kind === "cpu", (lane) => lane.kind === "zones" && lane.depth === 0, (lane) => lane.kind === "states" || lane.kind === "waits",
	(lane) => lane.kind !== "path" && lane.form !== "curve",
];

/* The activity in each part of the run: the time covered by slices, or the middle between a curve's minimum and
 * maximum. */
function density(bins: Map<number, Bins>, duration: number): Float64Array {
	const sum = new Float64Array(BINS), each = Math.max(duration, 1) / BINS;
	const spread = (start: number, length: number, value: number) => {
		const end = Math.min(start + length, duration);
		for (let i = Math.max(0, Math.floor(start / each)); i < BINS && i * each < end; i++)
			sum[i]! += (value * Math.max(0, Math.min(end, (i + 1) * each) - Math.max(start, i * each))) / each;
	};
	for (const of of bins.values())
		for (let i = 0; i < of.start.length; i++)
			if (of.form === "slices")
				spread(of.start[i]!, of.length[i]!, of.busy[i]!);
			else if (of.form === "curve")
				spread(of.start[i]!, of.length[i]!, (of.least[i]! + of.most[i]!) / 2);
			else
				spread(of.start[i]!, each, of.many[i]!);
	return sum;
}

export function useDensity(data: DataSource, lanes: Lanes): Float64Array {
	const [found, set] = useState(() => new Float64Array(BINS));
	useEffect(() => {
		let current = true;
		const of = SOURCES.map((is) => lanes.lanes.filter(is)).find((some) => some.length) ?? [];
		if (of.length)
			data.tiles({ lanes: of.slice(0, LANES_MOST).map((lane) => lane.id), from: 0, to: Math.max(1, Math.ceil(lanes.duration_ns)), width: BINS, made: lanes.made }).then(
				(bins) => current && set(density(bins, lanes.duration_ns)), () => undefined);
		return () => {
			current = false;
		};
	}, [data, lanes]);
	return found;
}

/* --- drawing ------------------------------------------------------------------------------------------------------ */

function draw(canvas: HTMLCanvasElement, engine: Engine, sum: Float64Array, theme: Theme): void {
	const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth || engine.width, context = canvas.getContext("2d", { alpha: false });
	if (!context)
		return;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round((MAP + RULER) * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round((MAP + RULER) * ratio);
	}
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.fillStyle = css(theme.ground);
	context.fillRect(0, 0, width, MAP + RULER);
	const most = sum.reduce((most, value) => Math.max(most, value), 0), wide = width / BINS;
	context.fillStyle = css(theme.fill);
	context.beginPath();
	sum.forEach((value, i) => most > 0 && value > 0 && context.rect(i * wide, MAP - 2 - (value / most) * (MAP - 6), wide + 0.4, (value / most) * (MAP - 6)));
	context.fill();
	const x = (time: number) => (time / Math.max(engine.duration, 1)) * width, left = x(engine.view.from), right = Math.max(x(engine.view.to), left + LEAST_PX);
	if (engine.chosen) {
		context.fillStyle = theme.focus;
		context.fillRect(x(engine.chosen.from), MAP - 3, Math.max(1, x(engine.chosen.to) - x(engine.chosen.from)), 3);
	}
	context.fillStyle = theme.veil;
	context.fillRect(0, 0, left, MAP);
	context.fillRect(right, 0, width - right, MAP);
	context.strokeStyle = theme.focus;
	context.lineWidth = 1.5;
	context.strokeRect(left + 0.75, 0.75, right - left - 1.5, MAP - 1.5);
	context.fillStyle = theme.focus;
	for (const edge of [left, right - 3])
		context.fillRect(edge, MAP / 2 - 7, 3, 14);
	ruler(context, engine.view, engine.width, width, theme);
}

function ruler(context: CanvasRenderingContext2D, view: Window, across: number, width: number, theme: Theme): void {
	const { step, first } = ticks(view, across, 110), scale = across / (view.to - view.from);
	context.font = '11px system-ui, "Liberation Sans", "DejaVu Sans", sans-serif';
	context.textBaseline = "middle";
	for (let i = 0, time = first; time <= view.to && i < 200; i++, time = first + i * step) {
		const x = (time - view.from) * scale;
		context.fillStyle = css(theme.line);
		context.fillRect(x, MAP + 2, 1, RULER - 2);
		context.fillStyle = theme.soft;
		if (x < width - 40)
			context.fillText(moment(time, step, view.to), x + 4, MAP + RULER / 2 + 1);
	}
}

/* --- the window that can be dragged ------------------------------------------------------------------------------- */

type Grip = "from" | "to" | "both";

function pulled(view: Window, grip: Grip, by: number): Window {
	return grip === "both" ? { from: view.from + by, to: view.to + by }
		: grip === "from" ? { from: Math.min(view.from + by, view.to), to: view.to } : { from: view.from, to: Math.max(view.to + by, view.from) };
}

export function MiniMap({ engine, sum, theme, redraws }: { engine: Engine; sum: Float64Array; theme: Theme; redraws: { current: (() => void) | null } }) {
	const canvas = useRef<HTMLCanvasElement>(null), held = useRef<{ grip: Grip; x: number; view: Window } | null>(null);
	const timeOf = (px: number) => (px / (canvas.current?.clientWidth || 1)) * engine.duration;
	useLayoutEffect(() => {
		redraws.current = () => canvas.current && draw(canvas.current, engine, sum, theme);
		redraws.current();
	});
	const down = (event: PointerEvent) => {
		const x = event.offsetX, time = timeOf(x), { from, to } = engine.view, near = timeOf(GRIP_PX);
		if (event.button || event.offsetY > MAP)
			return;
		const inner = Math.min(near, (to - from) / 4);
		const grip: Grip | null = time > from - near && time < from + inner ? "from" : time < to + near && time > to - inner ? "to" : time >= from && time <= to ? "both" : null;
		if (!grip)
			engine.go({ from: time - (to - from) / 2, to: time + (to - from) / 2 }, true);
		held.current = { grip: grip ?? "both", x, view: engine.view };
		canvas.current?.setPointerCapture(event.pointerId);
	};
	const move = (event: PointerEvent) => {
		if (held.current)
			engine.go(pulled(held.current.view, held.current.grip, timeOf(event.offsetX - held.current.x)), true);
	};
	const keys: Record<string, () => void> = {
		ArrowLeft: () => engine.pan(-0.1), ArrowRight: () => engine.pan(0.1), ArrowUp: () => engine.zoom(1 / 1.35), ArrowDown: () => engine.zoom(1.35),
		Home: () => engine.pan(-1e9), End: () => engine.pan(1e9), PageUp: () => engine.pan(-0.9), PageDown: () => engine.pan(0.9),
	};
	const middle = (engine.view.from + engine.view.to) / 2;
	return (
		<canvas ref={canvas} class="map" tabIndex={0} role="slider" aria-label="Visible window: left and right move it, up and down zoom"
			aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round((100 * middle) / Math.max(engine.duration, 1))}
			aria-valuetext={`${figure("ns", engine.view.from)} to ${figure("ns", engine.view.to)}`}
			onPointerDown={down} onPointerMove={move} onPointerUp={() => (held.current = null)} onPointerCancel={() => (held.current = null)}
			onKeyDown={(event) => {
				const act = keys[event.key];
				if (act) {
					event.preventDefault();
					act();
				}
			}} />
	);
}
