/* curves.tsx: a number over time: an area up to the maximum of each interval, with a line at the interval's last value, and a
 * point in time that can be selected by a click or with the arrow keys. The curve is an SVG, so that it takes its
 * colours from the style sheet; a table next to it has the same values. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { figure, type Unit } from "./figure";

export interface Point {
	from: number; /* ns from the recording's start */
	most: number | null; /* null: not known */
	end: number | null; /* at the end of the interval; null: unknown */
}

export interface Curve {
	title: string;
	unit: Unit;
	rate?: string; /* appended to the unit: "/s" */
	points: Point[]; /* in order of time */
	from: number;
	to: number; /* where the last interval ends */
}

interface Chosen {
	at: number | null;
	marks: { at: number; title: string }[]; /* named times: the peak */
	onPick: (ns: number) => void;
}

const LEFT = 68, RIGHT = 14, TOP = 10, FOOT = 24, LEAST_PX = 1.5;

/* Round steps of 1, 2 or 5 that divide 0 … most into about `count` parts. */
function steps(from: number, most: number, count: number): number[] {
	const rough = (most - from) / count, power = 10 ** Math.floor(Math.log10(rough || 1));
	const step = [1, 2, 5, 10].map((by) => by * power).find((at) => at >= rough) ?? rough;
	const found: number[] = [];
	for (let i = Math.ceil(from / step); i * step <= most * 1.0000001 && found.length < 20; i++)
		found.push(i * step);
	return found;
}

interface Scale {
	x: (ns: number) => number;
	y: (value: number) => number;
	ns: (x: number) => number;
	most: number;
	width: number;
	height: number;
}

function scaleOf(curve: Curve, width: number, height: number): Scale {
	const most = curve.points.reduce((high, point) => Math.max(high, point.most ?? 0, point.end ?? 0), 0) || 1;
	const span = curve.to - curve.from || 1, room = Math.max(1, width - LEFT - RIGHT), tall = height - TOP - FOOT;
	return {
		width, height, most,
		x: (ns) => LEFT + ((ns - curve.from) / span) * room,
		y: (value) => TOP + tall - (value / most) * tall,
		ns: (x) => curve.from + (Math.min(Math.max(x - LEFT, 0), room) / room) * span,
	};
}

function endOf(curve: Curve, i: number): number {
	return curve.points[i + 1]?.from ?? curve.to;
}

/* The outline of an area for each run of intervals with known values. */
function areas(curve: Curve, scale: Scale): string {
	let path = "", open = false;
	curve.points.forEach((point, i) => {
		const x = scale.x(point.from), left = x.toFixed(2), right = Math.max(x + LEAST_PX, scale.x(endOf(curve, i))).toFixed(2);
		if (point.most === null) {
			path += open ? `V${scale.y(0)}Z` : "";
			open = false;
			return;
		}
		path += (open ? "" : `M${left} ${scale.y(0)}`) + `V${scale.y(point.most).toFixed(2)}H${right}`;
		open = true;
	});
	return open ? path + `V${scale.y(0)}Z` : path;
}

function line(curve: Curve, scale: Scale): string {
	let path = "";
	curve.points.forEach((point, i) => {
		if (point.end !== null)
			path += `${path ? "L" : "M"}${scale.x(endOf(curve, i)).toFixed(2)} ${scale.y(point.end).toFixed(2)}`;
	});
	return path;
}

/* A time with enough digits to distinguish it from one that is `apart` away. */
export function moment(ns: number, apart: number): string {
	const [size, name] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "µs"] : [1, "ns"];
	const digits = Math.min(9, Math.max(0, Math.ceil(Math.log10(size! / Math.max(1, apart)) + 0.7)));
	return `${(ns / size!).toFixed(digits)} ${name}`;
}

/* The interval that contains a time. */
function intervalAt(curve: Curve, at: number): number {
	let found = 0;
	curve.points.forEach((point, i) => {
		if (point.from <= at)
			found = i;
	});
	return found;
}

function Axes({ curve, scale }: { curve: Curve; scale: Scale }) {
	const ticks = steps(curve.from, curve.to, Math.max(2, scale.width / 140)), apart = (ticks[1] ?? curve.to) - (ticks[0] ?? curve.from);
	return (
		<g class="axes">
			{steps(0, scale.most, 4).map((value) => (
				<>
					<line x1={LEFT} x2={scale.width - RIGHT} y1={scale.y(value)} y2={scale.y(value)} />
					<text x={LEFT - 8} y={scale.y(value) + 4} text-anchor="end">{figure(curve.unit, value) + (curve.rate ?? "")}</text>
				</>
			))}
			{ticks.map((ns) => <text x={scale.x(ns)} y={scale.height - 7} text-anchor={scale.x(ns) > scale.width - 40 ? "end" : "middle"}>{moment(ns, apart)}</text>)}
		</g>
	);
}

function saidOf(curve: Curve, i: number): string {
	const point = curve.points[i];
	const known = (value: number | null | undefined) => (value === null || value === undefined ? "unknown" : figure(curve.unit, value) + (curve.rate ?? ""));
	if (!point)
		return "";
	const apart = endOf(curve, i) - point.from;
	return `${moment(point.from, apart)} to ${moment(endOf(curve, i), apart)}: at most ${known(point.most)}` + (point.end === null ? "" : `, ${known(point.end)} at its end`);
}

export function CurveView({ curve, chosen, height = 180, children }: { curve: Curve; chosen?: Chosen; height?: number; children?: ComponentChildren }) {
	const box = useRef<HTMLDivElement>(null);
	const [width, setWidth] = useState(800);
	const [over, setOver] = useState(-1);
	useLayoutEffect(() => {
		const measure = () => box.current && setWidth(box.current.clientWidth);
		measure();
		const watch = new ResizeObserver(measure);
		if (box.current)
			watch.observe(box.current);
		return () => watch.disconnect();
	}, []);
	const scale = useMemo(() => scaleOf(curve, width, height), [curve, width, height]);
	const shapes = useMemo(() => [areas(curve, scale), line(curve, scale)], [curve, scale]);
	const last = curve.points.length - 1;
	const here = chosen && chosen.at !== null ? intervalAt(curve, chosen.at) : -1;
	const told = over >= 0 ? over : here;
	/* The last ns of an interval, at which its final value is live. */
	const walk = (to: number) => chosen?.onPick(Math.max(0, endOf(curve, Math.min(last, Math.max(0, to))) - 1));
	function step(event: KeyboardEvent): void {
		const by: Record<string, number> = { ArrowLeft: here - 1, ArrowRight: here + 1, PageUp: here - 20, PageDown: here + 20, Home: 0, End: last };
		const to = by[event.key];
		if (to === undefined)
			return;
		event.preventDefault();
		walk(to);
	}
	const slider = chosen ? {
		role: "slider" as const, tabindex: 0, "aria-valuemin": 0, "aria-valuemax": last, "aria-valuenow": Math.max(0, here),
		"aria-valuetext": here >= 0 ? saidOf(curve, here) : "no time is selected", onKeyDown: step,
	} : { role: "img" as const };
	const across = (event: MouseEvent) => event.clientX - (box.current?.getBoundingClientRect().left ?? 0);
	return (
		<div class="curve" ref={box}>
			<svg width={width} height={height} {...slider} aria-label={`${curve.title}${chosen ? ": arrow keys select a time" : ""}. The same data is available as a table.`}
				class={chosen ? "picks" : ""}
				onClick={(event) => chosen?.onPick(Math.round(scale.ns(across(event))))}
				onMouseMove={(event) => setOver(intervalAt(curve, scale.ns(across(event))))} onMouseLeave={() => setOver(-1)}>
				<Axes curve={curve} scale={scale} />
				<path class="area" d={shapes[0]} />
				<path class="line" d={shapes[1]} />
				{chosen?.marks.map((mark) => (
					<g class="mark">
						<line x1={scale.x(mark.at)} x2={scale.x(mark.at)} y1={TOP} y2={height - FOOT} />
						<text x={scale.x(mark.at) + (scale.x(mark.at) > width - 90 ? -5 : 5)} y={TOP + 11} text-anchor={scale.x(mark.at) > width - 90 ? "end" : "start"}>{mark.title}</text>
					</g>
				))}
				{chosen && chosen.at !== null && chosen.at >= curve.from && chosen.at <= curve.to &&
					<line class="moment" x1={scale.x(chosen.at)} x2={scale.x(chosen.at)} y1={TOP} y2={height - FOOT} />}
				{over >= 0 && <rect class="over" x={scale.x(curve.points[over]!.from)} y={TOP} width={Math.max(1, scale.x(endOf(curve, over)) - scale.x(curve.points[over]!.from))} height={height - TOP - FOOT} />}
			</svg>
			<p class="told" role="status">{told >= 0 ? saidOf(curve, told) : children}</p>
		</div>
	);
}
