/* roofline.tsx: the page `roofline`: zones below the ceilings of their machine, both axes logarithmic. Lines are measured
 * ceilings (section `roofs`), points are zones with FLOP and bytes (section `roofline`); a zone without FLOP or without
 * bytes has no intensity and no point. A hollow point with an arrow is a zone whose bytes are a lower bound: its true
 * place is there or further left. GPUs have charts of their own below (section `device-roofs`). */
import { useEffect, useMemo, useState } from "preact/hooks";
import { type DataSource, type Recording, type Table, table, text, value } from "./data";
import { clean, figure } from "./figure";
import { Await, Command, Notes, type Roofline as Standing, said, useReport, useWorld } from "./parts";
import { DeviceRoofs } from "./roofline_devices";
import { Axes, Ceilings, useWidth } from "./roofline_picture";
import { ceilingsOf, devicesOf, isBelow, type Point, pointsOf, type Scale, scaleOf } from "./roofline_scale";
import { elsewhere, go } from "./selection";
import { DataTable } from "./table";

const ROWS = 200, POINTS_MOST = 60, ASKED_AFTER_MS = 500;

/* --- whether there is one ------------------------------------------------------------------------------------------------- */

function standing(points: Table | null, roofs: Table | null, devices: Table | null): Standing {
	if (devices && devicesOf(devices).length)
		return "there";
	if (!points?.rows.some((row) => typeof value(row, "gflop_per_s") === "number"))
		return "";
	return roofs?.rows.length ? "there" : "unmeasured";
}

/* The recording's contents show whether work may have been counted; only the section shows whether it was. The section
 * is requested once, after the visible ones, and not before the end of a live run. */
export function useRoofline(data: DataSource, recording: Recording, isWhole: boolean): Standing {
	const [found, set] = useState<Standing>(""), may = isWhole && ["roofline", "device-roofs"].some((section) => recording.sections.includes(section));
	useEffect(() => {
		let current = true;
		const ask = () => data.report(["roofline"], {}, ROWS).then((report) => current && set(standing(table(report, "roofline"), table(report, "roofs"), table(report, "device-roofs"))), () => undefined);
		const later = may ? window.setTimeout(ask, data.inFile ? 0 : ASKED_AFTER_MS) : 0;
		return () => {
			current = false;
			window.clearTimeout(later);
		};
	}, [data, may]);
	return found;
}

/* --- words ------------------------------------------------------------------------------------------------------------------ */

/* A rate in GFLOP/s, or in a smaller unit if two decimals would be zeros. */
function rate(y: number): string {
	const [scale, unit] = y >= 0.01 ? [1, "GFLOP/s"] as const : y >= 1e-5 ? [1e3, "MFLOP/s"] as const : [1e9, "FLOP/s"] as const;
	return `${figure("number", y * scale)} ${unit}`;
}

function saidOf(point: Point): string {
	const share = value(point.row, "roof_share"), bound = text(point.row, "bound");
	return `${clean(point.name)}: ${rate(point.y)}${point.atMost ? ", at most " : " at "}${figure("number", point.x)} FLOP/byte`
		+ (typeof share === "number" ? `, ${point.atMost ? "at least " : ""}${figure("ratio", share)} of its roof` : "") + (bound ? `, bound: ${clean(bound)}` : "");
}

/* --- the picture ------------------------------------------------------------------------------------------------------------ */

interface Picked {
	chosen: number; /* -1: none */
	pick: (index: number) => void;
	point: (index: number) => void; /* the point under the pointer or focus; -1: none */
}

function Points({ points, scale, picked }: { points: Point[]; scale: Scale; picked: Picked }) {
	const { chosen, pick, point: look } = picked;
	function step(event: KeyboardEvent, i: number): void {
		const to = { ArrowRight: i + 1, ArrowDown: i + 1, ArrowLeft: i - 1, ArrowUp: i - 1, Home: 0, End: points.length - 1 }[event.key];
		if (event.key === "Enter" || event.key === " ")
			pick(chosen === i ? -1 : i);
		else if (event.key === "Escape")
			pick(-1);
		else if (to === undefined)
			return;
		else
			(event.currentTarget as SVGElement).parentElement?.querySelector<SVGElement>(`[data-point="${Math.min(points.length - 1, Math.max(0, to))}"]`)?.focus();
		event.preventDefault();
	}
	return (
		<g>
			{[...points].reverse().map((point, back) => { /* the longest on top */
				const i = points.length - 1 - back, x = scale.x(Math.log10(point.x)), radius = 8 + 7 * Math.sqrt(point.share), y = isBelow(point, scale) ? scale.bottom - radius - 16 : scale.y(Math.log10(point.y)), roof = value(point.row, "roof_gflop_per_s");
				return (
					<g class={point.atMost ? "point at-most" : "point"} data-point={i} data-zone={point.name} role="button" tabindex={i === Math.max(0, chosen) ? 0 : -1} aria-pressed={i === chosen} aria-label={`${i + 1} ${saidOf(point)}`}
						onClick={() => pick(chosen === i ? -1 : i)} onKeyDown={(event) => step(event, i)} onFocus={() => look(i)} onBlur={() => look(-1)} onMouseEnter={() => look(i)} onMouseLeave={() => look(-1)}>
						{i === chosen && typeof roof === "number" && roof > 0 && <line class="to-roof" x1={x} x2={x} y1={y} y2={scale.y(Math.min(scale.ys[1], Math.log10(roof)))} />}
						{isBelow(point, scale) && <path d={`M${x} ${y + radius}v14m-5 -7l5 7l5 -7`} data-below />}
						{point.atMost && <path d={`M${x - radius} ${y}h-26m7 -5l-7 5l7 5`} />}
						<circle cx={x} cy={y} r={radius} />
						<text x={x} y={y + 4} text-anchor="middle">{i + 1}</text>
					</g>
				);
			})}
		</g>
	);
}

function Picture({ points, roofs, picked }: { points: Point[]; roofs: Table; picked: Picked }) {
	const { box, width } = useWidth(), height = width < 600 ? 360 : 520;
	const ceilings = useMemo(() => ceilingsOf(roofs), [roofs]), scale = useMemo(() => scaleOf(points, ceilings, width, height), [points, ceilings, width, height]);
	const below = points.filter((point) => isBelow(point, scale)).length;
	return (
		<div class="roofline" ref={box}>
			<svg width={width} height={height} role="group" aria-label="Roofline: zones under the ceilings of the machine. Arrow keys move between points, Enter selects one. The same data is available as a table.">
				<Axes scale={scale} />
				<Ceilings ceilings={ceilings} scale={scale} />
				<Points points={points} scale={scale} picked={picked} />
			</svg>
			{below > 0 && <p class="count" data-fact="below">{figure("count", below)} with an arrow down: far below all ceilings, outside this picture.</p>}
		</div>
	);
}

/* --- the page --------------------------------------------------------------------------------------------------------------- */

function Chosen({ point, columns }: { point: Point; columns: Table["columns"] }) {
	const { selection, recording } = useWorld();
	return (
		<section aria-labelledby="one-zone">
			<h2 id="one-zone"><code>{clean(point.name)}</code></h2>
			<dl class="figures">
				{columns.filter((column) => column.key !== "zone").map((column) => (
					<div data-figure={column.key} title={clean(point.row.absent?.[column.key] ?? "")}><dt>{column.title}</dt><dd>{said(point.row, column)}</dd></div>
				))}
			</dl>
			{recording.sections.includes("zones") && <p><a href={elsewhere(selection, "zones", { focus: point.name })}>Duration</a></p>}
		</section>
	);
}

function Both({ zones, roofs }: { zones: Table; roofs: Table }) {
	const { selection } = useWorld(), all = useMemo(() => pointsOf(zones), [zones]), points = all.slice(0, POINTS_MOST);
	const [asTable, show] = useState(false), [looked, point] = useState(-1);
	const chosen = points.findIndex(({ name }) => selection.focus !== "" && name === selection.focus), told = looked >= 0 ? looked : chosen;
	const without = zones.rows.length - all.length, pick = (i: number) => go(selection, { focus: points[i]?.name ?? "" });
	return (
		<>
			<div class="tools"><label><input type="checkbox" checked={asTable} onChange={() => show(!asTable)} /> view as table</label></div>
			{asTable ? <><DataTable table={zones} drawn={{ label: "Zones" }} /><DataTable table={roofs} drawn={{ label: "Measured ceilings" }} /></> : (
				<>
					<p class="count">Lines: solid: all CPUs, measured; dotted: one thread; dashed: datasheet. Points: zones as reported; hollow with an arrow: at most that intensity.</p>
					<Picture points={points} roofs={roofs} picked={{ chosen, pick, point }} />
					<p class="told" role="status">{points[told] ? saidOf(points[told]!) : "Click a point, or use arrow keys and Enter, to select a zone."}</p>
					<ol class="zone-key">{points.map((at) => <li>{saidOf(at)}</li>)}</ol>
				</>
			)}
			{(without > 0 || all.length > points.length || zones.omitted > 0) && (
				<p class="count" data-fact="without" data-count={without}>
					{without > 0 && `${figure("count", without)} ${without === 1 ? "zone has" : "zones have"} no FLOP or no bytes, so no intensity and no point. `}
					{all.length > points.length && `${figure("count", all.length - points.length)} smaller ones are only in the table. `}
					{zones.omitted > 0 && `${figure("count", zones.omitted)} more rows are not shown.`}
				</p>
			)}
			{points[chosen] && <Chosen point={points[chosen]!} columns={zones.columns} />}
			<Notes notes={[...zones.notes, ...roofs.notes]} />
		</>
	);
}

function Zones({ zones, roofs }: { zones: Table | null; roofs: Table | null }) {
	const { selection } = useWorld();
	if (zones?.rows.length && roofs?.rows.length)
		return <Both zones={zones} roofs={roofs} />;
	return (
		<>
			{zones?.rows.length ? <><p class="wait" data-fact="unmeasured">The ceilings of this machine were not measured: run <Command>sonde roofline --measure</Command> once, before recording.</p><DataTable table={zones} drawn={{ label: "Zones" }} /></>
				: <p class="wait">{selection.thread || selection.from || selection.to ? "No work was counted in the selected threads and time." : "No zone reported its work."}</p>}
			<Notes notes={zones?.rows.length ? zones.notes : (zones?.notes ?? []).map((note) => ({ ...note, warning: false }))} />
		</>
	);
}

export function Roofline() {
	const { selection } = useWorld(), answer = useReport(["roofline"], { ...selection, focus: "", weigh: "", at: "", heap: "" }, ROWS);
	return (
		<>
			<h1>Roofline</h1>
			<Await answer={answer}>
				{(report) => {
					const devices = table(report, "device-roofs");
					return <><Zones zones={table(report, "roofline")} roofs={table(report, "roofs")} />{devices && <DeviceRoofs roofs={devices} />}</>;
				}}
			</Await>
		</>
	);
}
