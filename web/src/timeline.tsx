/* timeline.tsx: the page `timeline`: all tracks of the recording over time, and details of the selection. The visible range and
 * the selected slice are in the URL; collapsed tracks are not. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { clean, figure, matcher } from "./figure";
import { useWorld } from "./parts";
import { go, parse, refine, type Selection } from "./selection";
import { Filter } from "./table";
import type { Arrows, Lanes, Path, Slice, Wanted } from "./tiles";
import { Canvas, type Deeds, saySpot } from "./timeline_canvas";
import { Details, touching } from "./timeline_details";
import { Engine, type Spot } from "./timeline_engine";
import { foldedAtFirst, layout, People } from "./timeline_layout";
import { MiniMap, useDensity } from "./timeline_map";
import { themeOf } from "./timeline_paint";
import { following, preceding, sought } from "./timeline_search";
import { Help, Twin } from "./timeline_twin";
import { around, clamped, parsed, type Window, written } from "./timeline_view";

const ARROWS_MOST = 300, STEPS_MOST = 3000;

/* --- what is in the URL -------------------------------------------------------------------------------------------- */

function rangeOf(selection: Selection, duration: number): Window | null {
	const from = Number(selection.from || 0), to = Number(selection.to || duration);
	return (selection.from || selection.to) && to > from ? { from, to } : null;
}

function viewOf(selection: Selection, duration: number): Window {
	const range = rangeOf(selection, duration);
	return parsed(selection.view) ?? (range ? around(range.from, range.to, duration) : { from: 0, to: duration });
}

/* LANE:START:LENGTH:NAME:MANY */
function spotOf(words: string, lanes: Lanes): Spot | null {
	const [lane, start, length, name, many] = words.split(":").map(Number);
	const sound = [lane, start, length, name, many].every((at) => at !== undefined && Number.isFinite(at) && at >= 0);
	return sound && lanes.lanes[lane!] && lanes.names[name!] ? { lane: lane!, start: start!, length: length!, name: name!, many: many!, busy: 1 } : null;
}

function slotOf(spot: Spot | null): string {
	return spot ? [spot.lane, spot.start, spot.length, spot.name, spot.many].join(":") : "";
}

function isWhole(view: Window, duration: number): boolean {
	return view.from <= 0 && view.to >= duration;
}

/* --- requests while the window does not move ---------------------------------------------------------------------- */

function useOverlays(lanes: Lanes, view: Window, want: { arrows: boolean; path: boolean }): { arrows: Arrows; path: Path } {
	const { data } = useWorld();
	const [arrows, setArrows] = useState<Arrows>({ arrows: [], omitted: 0 });
	const [path, setPath] = useState<Path>({ steps: [], omitted: 0 });
	const from = Math.floor(view.from), to = Math.max(from + 1, Math.ceil(view.to)), threads = useMemo(() => lanes.lanes.some((lane) => lane.thread > 0), [lanes]);
	useEffect(() => {
		let current = true;
		if (want.arrows && threads)
			data.arrows(from, to, ARROWS_MOST).then((found) => current && setArrows(found), () => current && setArrows({ arrows: [], omitted: 0 }));
		else
			setArrows({ arrows: [], omitted: 0 });
		if (want.path)
			data.path(from, to, STEPS_MOST).then((found) => current && setPath(found), () => current && setPath({ steps: [], omitted: 0 }));
		else
			setPath({ steps: [], omitted: 0 });
		return () => {
			current = false;
		};
	}, [data, from, to, want.arrows, want.path, threads]);
	return { arrows, path };
}

/* The search for slices with these names, in the selected time range and thread. */
function wantedOf(names: number[], range: Window | null, thread: string, duration: number): Wanted {
	return { names, from: range?.from ?? 0, to: range?.to ?? Math.ceil(duration) + 1, thread: Number(thread) || 0 };
}

/* The number of matching slices; null: too many to count; undefined: pending. */
function useCount(wanted: Wanted): number | null | undefined {
	const { data } = useWorld(), [count, set] = useState<number | null | undefined>(undefined), key = JSON.stringify(wanted);
	useEffect(() => {
		let current = true;
		set(undefined);
		const asked = wanted.names.length ? window.setTimeout(() => data.find({ ...wanted, limit: 1 })
			.then((found) => current && set(found.count), () => current && set(null)), 150) : 0;
		return () => {
			current = false;
			window.clearTimeout(asked);
		};
	}, [data, key]);
	return count;
}

/* The same values as in timeline.css. */
function useNarrow(): boolean {
	const query = useMemo(() => matchMedia("(max-width: 700px)"), []), [narrow, set] = useState(query.matches);
	useEffect(() => {
		const changed = () => set(query.matches);
		query.addEventListener("change", changed);
		return () => query.removeEventListener("change", changed);
	}, [query]);
	return narrow;
}

/* --- the page ---------------------------------------------------------------------------------------------------------- */

function Stage({ lanes }: { lanes: Lanes }) {
	const { data, recording, selection, dark } = useWorld(), duration = lanes.duration_ns;
	const people = useMemo(() => new People(recording), [recording]);
	const [turned, setTurned] = useState(() => new Set<string>()); /* keys that the user collapsed or expanded */
	const folded = useMemo(() => {
		const all = foldedAtFirst(lanes);
		turned.forEach((key) => all.delete(key) || all.add(key));
		return all;
	}, [lanes, turned]);
	const turn = (keys: string[]) => setTurned((before) => {
		const after = new Set(before);
		keys.forEach((key) => after.delete(key) || after.add(key));
		return after;
	});
	const [shows, setShows] = useState({ arrows: true, path: true, table: false, help: false });
	const [still, setStill] = useState(() => clamped(viewOf(selection, duration), duration));
	const [failed, fail] = useState("");
	const [said, say] = useState("");
	const steps = useRef(Promise.resolve()), box = useRef<HTMLDivElement>(null), redraws = useRef<(() => void) | null>(null);
	const narrow = useNarrow();
	const rows = useMemo(() => layout(lanes, people, folded, Number(selection.thread || 0), narrow), [lanes, people, folded, selection.thread, narrow]);
	const found = useMemo(() => sought(lanes, selection.search), [lanes, selection.search]);
	const theme = useMemo(() => themeOf(lanes, dark, found.bits), [lanes, dark, found]);
	const sum = useDensity(data, lanes);
	const chosen = useMemo(() => rangeOf(selection, duration), [selection.from, selection.to]);
	const spot = useMemo(() => spotOf(selection.slice, lanes), [selection.slice]);
	const last = useRef<Engine | null>(null);
	const engine = useMemo(() => new Engine(data, lanes, theme, viewOf(selection, duration), {
		moved: () => undefined,
		still(view) {
			setStill(view);
			const now = parse(location.hash);
			if (now.page === "timeline" && !now.last && now.view !== (isWhole(view, duration) ? "" : written(view)))
				refine(now, { view: isWhole(view, duration) ? "" : written(view) });
		},
		painted() {
			redraws.current?.();
			fail(engine.store.error);
			if (box.current) {
				box.current.dataset["view"] = written(engine.view);
				box.current.dataset["waiting"] = String(engine.store.waiting());
				box.current.dataset["whole"] = String(engine.whole);
			}
		},
	}), [data, lanes]);
	if (last.current && last.current !== engine)
		engine.follow(last.current);
	last.current = engine;
	useEffect(() => {
		setStill(engine.view);
		return () => engine.stop();
	}, [engine]);
	const count = useCount(wantedOf(found.tooMany ? [] : found.names, chosen, selection.thread, duration));
	const overlays = useOverlays(lanes, still, { arrows: shows.arrows, path: shows.path && lanes.lanes.some((lane) => lane.kind === "path") });
	/* Links and Back move the window; the window's own last change to the URL does not. */
	useEffect(() => {
		const view = viewOf(selection, duration);
		if (written(view) !== written(engine.view) && (selection.view !== written(still) || written(engine.view) === written(still)))
			engine.go(view);
	}, [selection.view, selection.last]);
	useEffect(() => {
		const near = spot ? touching(lanes, overlays.arrows.arrows, spot) : [];
		const arrows = near.length ? near : overlays.arrows.omitted ? [] : overlays.arrows.arrows;
		Object.assign(engine, { theme, chosen, focus: spot, arrows, path: overlays.path.steps });
		engine.redraw();
	});

	const show = (slice: Slice) => {
		const { from, to } = engine.view, end = slice.start + slice.length;
		if (end < from || slice.start > to || slice.length > (to - from) * 4 || slice.length < (to - from) / 2000)
			engine.go(slice.length ? around(slice.start - slice.length * 2, end + slice.length * 2, duration) : { from: slice.start - (to - from) / 2, to: slice.start + (to - from) / 2 });
		const lane = lanes.lanes[slice.lane];
		if (lane)
			turn([`p${lane.process}`, `t${lane.thread}`].filter((key) => folded.has(key)));
		if (slice.name >= 0)
			refine(parse(location.hash), { slice: slotOf({ ...slice, many: 1, busy: 1 }) });
	};
	/* Steps are queued: pressing Enter five times moves five slices on. */
	const step = (names: number[], forward: boolean) => {
		steps.current = steps.current.then(async () => {
			const at = spotOf(parse(location.hash).slice, lanes), now = at && at.many === 1 ? at : null, wanted = wantedOf(names, chosen, selection.thread, duration);
			const ask = (from: Slice | null) => forward ? following(data, wanted, from, duration) : preceding(data, wanted, from, duration, (still.to - still.from) / 4);
			const slice = names.length ? (await ask(now)) ?? (now && (await ask(null))) : null;
			if (slice)
				show(slice);
			say(slice ? saySpot(lanes, { ...slice, many: 1, busy: 1 }) : chosen || selection.thread ? "No slice in the selection has these names." : "No slice has these names.");
		}).catch((reason: Error) => say(reason.message));
	};
	const fit = () => {
		const to = spot ? around(spot.start, spot.start + spot.length, duration) : chosen ? around(chosen.from, chosen.to, duration) : { from: 0, to: duration };
		engine.go(written(to) === written(engine.view) ? { from: 0, to: duration } : to);
	};
	const deeds: Deeds = {
		pick(at) {
			const walked = !at || !spot || document.activeElement?.classList.contains("timeline");
			const now = parse(location.hash);
			if (slotOf(at) === now.slice)
				return;
			(walked && now.slice ? refine : go)(now, { slice: slotOf(at) });
			if (at) {
				say(`${saySpot(lanes, at)}, ${people.lane(lanes.lanes[at.lane]!)}`);
				if (at.start > engine.view.to || at.start + at.length < engine.view.from)
					engine.go({ from: at.start - (engine.view.to - engine.view.from) / 2, to: at.start + (engine.view.to - engine.view.from) / 2 });
			}
		},
		choose: (range) => go(parse(location.hash), { from: String(range.from), to: String(range.to), view: isWhole(engine.view, duration) ? "" : written(engine.view) }),
		fold: (key) => turn([key]),
		search: () => (document.querySelector("main .search") as HTMLElement | null)?.focus(),
		fit,
		help: () => setShows({ ...shows, help: true }),
		escape() {
			if (spot)
				refine(parse(location.hash), { slice: "" });
			else if (chosen)
				go(parse(location.hash), { from: "", to: "" });
			say("");
		},
	};
	const hasPath = lanes.lanes.some((lane) => lane.kind === "path"), words = selection.search;
	const toggle = (name: "arrows" | "path" | "table", title: string) => (
		<label><input type="checkbox" checked={shows[name]} onChange={() => setShows({ ...shows, [name]: !shows[name] })} /> {title}</label>
	);
	return (
		<div class="stage" ref={box}>
			<div class="tools">
				<span onKeyDown={(event) => {
					if (event.key === "Enter") {
						event.preventDefault();
						step(found.names, !event.shiftKey);
					} else if (event.key === "Escape") {
						(box.current?.querySelector("canvas.timeline") as HTMLElement | null)?.focus();
					}
				}}>
					<Filter words={words} label="Search names, a regular expression" onWords={(search) => refine(parse(location.hash), { search })} />
				</span>
				{words && (
					<>
						<button type="button" aria-label="The previous slice" onClick={() => step(found.names, false)}>◂</button>
						<button type="button" aria-label="The next slice" onClick={() => step(found.names, true)}>▸</button>
						<span class="count" role="status" data-fact="found">
							{found.tooMany ? `${figure("count", found.names.length)} names match: too many to count their slices`
								: !matcher(words) || !found.names.length ? "No name matches." : `${found.names.length === 1 ? "1 name" : `${figure("count", found.names.length)} names`}, `
									+ (count === undefined ? "…" : count === null ? "too many slices to count" : `${figure("count", count)} ${count === 1 ? "slice" : "slices"}`)}
						</span>
					</>
				)}
				{hasPath && toggle("path", "critical path")}
				{toggle("arrows", "arrows")}
				{toggle("table", "view as table")}
				<button type="button" onClick={fit}>Fit</button>
				<button type="button" onClick={() => setShows({ ...shows, help: true })} aria-label="Keys">?</button>
			</div>
			<p class="told" role="status" aria-live="polite">{said || "Drag to select a time range, Ctrl and wheel to zoom, W A S D to move, click for details, ? for all keys."}</p>
			<div class="head"><span /><MiniMap engine={engine} sum={sum} theme={theme} redraws={redraws} /></div>
			{failed && <p class="failed" role="alert">{clean(failed)} <button type="button" onClick={() => engine.store.again()}>Try again</button></p>}
			{!!lanes.thinned_ns && (
				<p class="banner" role="note">The whole timeline did not fit into this file: slices shorter than {figure("ns", lanes.thinned_ns)} are merged with their neighbours. <code>sonde view {clean(recording.file)}</code> shows all of them; a larger <code>--max-size</code> keeps more in the file.</p>
			)}
			{lanes.lanes.some((lane) => lane.left_out > 0) && (
				<p class="banner" role="note">{figure("count", lanes.lanes.reduce((sum, lane) => sum + lane.left_out, 0))} slices are not shown: too many, or nested too deep.</p>
			)}
			{shows.table
				? <Twin lanes={lanes} people={people} rows={rows} view={still} wanted={found.bits} />
				: <Canvas engine={engine} lanes={lanes} people={people} rows={rows} deeds={deeds} />}
			{!shows.table && shows.arrows && overlays.arrows.omitted > 0 && (
				<p class="count">{figure("count", overlays.arrows.arrows.length + overlays.arrows.omitted)} arrows exceed the limit and are not drawn: zoom in, or select a slice.</p>
			)}
			{spot && <Details lanes={lanes} people={people} spot={spot} ways={{
				next: (name) => step([name], true), before: (name) => step([name], false), fit, close: () => refine(parse(location.hash), { slice: "" }), show,
			}} />}
			{shows.help && <Help close={() => setShows({ ...shows, help: false })} />}
		</div>
	);
}

export function Timeline() {
	const { data, revision } = useWorld();
	const [lanes, set] = useState<Lanes | null>(null), [error, fail] = useState(""), [tries, retry] = useState(0);
	useEffect(() => {
		fail("");
		data.lanes(lanes?.made).then(set, (reason: Error) => fail(lanes ? "" : reason.message));
	}, [data, tries, revision]);
	return (
		<>
			<h1>Timeline</h1>
			{error ? <div class="failed" role="alert"><p>{clean(error)}</p><p><button type="button" onClick={() => retry(tries + 1)}>Try again</button></p></div>
				: !lanes ? <p class="wait" role="status">Loading…</p>
					: lanes.lanes.length ? <Stage lanes={lanes} /> : <p class="wait">The recording has no events with times.</p>}
		</>
	);
}
