/* timeline_details.tsx: details of the selected slice: its position, its share of the enclosing slice, arrows that touch its
 * thread during its time, and links to other pages about it. */
import { useEffect, useState } from "preact/hooks";
import { DeviceFacts } from "./devices_slice";
import { figure, only } from "./figure";
import { useWorld } from "./parts";
import { elsewhere } from "./selection";
import { type Arrow, firstAt, type Lane, type Lanes, type Slice } from "./tiles";
import { sayName } from "./timeline_canvas";
import type { Spot } from "./timeline_engine";
import type { People } from "./timeline_layout";
import { moment } from "./timeline_view";

/* The enclosing slice, in the track above of the same thread. */
function useParent(lanes: Lanes, spot: Spot): Slice | null {
	const { data } = useWorld(), [found, set] = useState<Slice | null>(null), lane = lanes.lanes[spot.lane];
	const above = lane && lane.depth > 0
		? lanes.lanes.find((at) => at.kind === lane.kind && at.process === lane.process && at.thread === lane.thread && at.title === lane.title && at.depth === lane.depth - 1) : undefined;
	useEffect(() => {
		let current = true;
		set(null);
		const from = Math.floor(spot.start), to = from + Math.max(1, Math.ceil(spot.length));
		if (above)
			data.tiles({ lanes: [above.id], from, to, width: 4, made: lanes.made }).then((tiles) => {
				const bins = tiles.get(above.id);
				if (!current || bins?.form !== "slices")
					return;
				const i = firstAt(bins.start, spot.start + 0.5) - 1;
				if (i >= 0 && bins.many[i] === 1 && bins.start[i]! + bins.length[i]! >= spot.start + spot.length)
					set({ lane: above.id, start: bins.start[i]!, length: bins.length[i]!, name: bins.name[i]! });
			}, () => undefined);
		return () => {
			current = false;
		};
	}, [data, spot.lane, spot.start, spot.length]);
	return found;
}

function ofThread(lanes: Lanes, id: number, lane: Lane): boolean {
	const other = lanes.lanes[id];
	return !!other && (other.id === lane.id || (lane.thread > 0 && other.thread === lane.thread));
}

/* The arrows that leave or reach the slice's thread during the slice. */
export function touching(lanes: Lanes, arrows: Arrow[], slice: Slice): Arrow[] {
	const lane = lanes.lanes[slice.lane], end = slice.start + slice.length;
	const inside = (time: number) => time >= slice.start && time <= end;
	return lane ? arrows.filter((arrow) => (ofThread(lanes, arrow.from_lane, lane) && inside(arrow.from)) || (ofThread(lanes, arrow.to_lane, lane) && inside(arrow.to))) : [];
}

const ARROWS_MOST = 100, ARROWS_SHOWN = 6;

interface Touching {
	found: Arrow[];
	cut: boolean; /* there are more */
}

function useArrows(lanes: Lanes, spot: Spot): Touching {
	const { data } = useWorld(), [state, set] = useState<Touching>({ found: [], cut: false });
	useEffect(() => {
		let current = true;
		set({ found: [], cut: false });
		const from = Math.floor(spot.start), to = Math.ceil(spot.start + spot.length) + 1;
		data.arrows(from, to, ARROWS_MOST).then(({ arrows, omitted }) => current && set({ found: touching(lanes, arrows, spot), cut: omitted > 0 }), () => undefined);
		return () => {
			current = false;
		};
	}, [data, lanes, spot.lane, spot.start, spot.length]);
	return state;
}

function Arrows({ lanes, people, spot, show, touch: { found, cut } }: { lanes: Lanes; people: People; spot: Spot; show: (slice: Slice) => void; touch: Touching }) {
	const own = lanes.lanes[spot.lane]!;
	if (!found.length && !cut)
		return null;
	return (
		<>
			<dt>arrows</dt>
			<dd>
				<ul>
					{found.slice(0, ARROWS_SHOWN).map((arrow) => {
						const leaves = ofThread(lanes, arrow.from_lane, own), id = leaves ? arrow.to_lane : arrow.from_lane, other = lanes.lanes[id];
						return other && (
							<li>
								{arrow.kind} {leaves ? "to" : "from"}{" "}
								<button type="button" class="link" onClick={() => show({ lane: id, start: leaves ? arrow.to : arrow.from, length: 0, name: -1 })}>
									{people.lane(other)} at {figure("ns", leaves ? arrow.to : arrow.from)}
								</button>
							</li>
						);
					})}
				</ul>
				{(cut || found.length > ARROWS_SHOWN) && <span class="count">there are more</span>}
			</dd>
		</>
	);
}

export interface Ways {
	next(name: number): void;
	before(name: number): void;
	fit(): void;
	close(): void;
	show(slice: Slice): void;
}

export function Details({ lanes, people, spot, ways }: { lanes: Lanes; people: People; spot: Spot; ways: Ways }) {
	const { selection, recording } = useWorld();
	const lane = lanes.lanes[spot.lane], parent = useParent(lanes, spot), name = sayName(lanes, spot), group = spot.many > 1, touch = useArrows(lanes, spot);
	if (!lane)
		return null;
	const end = spot.start + Math.max(1, spot.length), step = Math.max(1, spot.length / 1000);
	const time = { from: String(Math.floor(spot.start)), to: String(Math.ceil(end)) };
	const raw = lanes.names[spot.name]?.name ?? "";
	return (
		<section class="details" aria-labelledby="details">
			<h2 id="details"><code>{group ? `${figure("count", spot.many)} slices, too close together to tell apart here` : name}</code></h2>
			<dl>
				{group && <><dt>the longest</dt><dd>{name}</dd></>}
				<dt>start</dt>
				<dd data-fact="start">{moment(spot.start, step, spot.start)}</dd>
				{(spot.length > 0 || group) && <><dt>{group ? "within" : "duration"}</dt><dd data-fact="duration">{figure("ns", spot.length)}</dd></>}
				{group && <><dt>covered</dt><dd>{figure("ratio", spot.busy)}</dd></>}
				<dt>track</dt>
				<dd data-fact="lane">{people.lane(lane)}</dd>
				{lane.kind === "zones" && <><dt>depth</dt><dd data-fact="depth">{lane.depth}</dd></>}
				{parent && !group && parent.length > 0 && (
					<>
						<dt>part of</dt>
						<dd data-fact="parent">
							<button type="button" class="link" onClick={() => ways.show(parent)}>{sayName(lanes, parent)}</button>, {figure("ratio", spot.length / parent.length)} of its {figure("ns", parent.length)}
						</dd>
					</>
				)}
				{!group && lane.kind === "device" && <DeviceFacts name={raw} start={spot.start} arrows={touch.found} />}
				{!group && <Arrows lanes={lanes} people={people} spot={spot} show={ways.show} touch={touch} />}
			</dl>
			<p class="tools">
				<button type="button" onClick={ways.fit}>{group ? "Zoom in (F)" : "Fit it (F)"}</button>
				{!group && <button type="button" onClick={() => ways.before(spot.name)}>Previous slice of this name</button>}
				{!group && <button type="button" onClick={() => ways.next(spot.name)}>Next slice of this name</button>}
				{lane.kind === "zones" && recording.sections.includes("zones") && <a href={elsewhere(selection, "zones", { search: only(raw) })}>Show in zones</a>}
				{lane.kind === "device" && recording.sections.includes("devices") && <a href={elsewhere(selection, "devices", { focus: raw })}>Show in devices</a>}
				{recording.sections.includes("calltree") && (
					<a href={elsewhere(selection, "flame", { ...time, thread: lane.thread ? String(lane.thread) : "" })}>Flame graph of its time{lane.thread ? " and thread" : ""}</a>
				)}
				<button type="button" onClick={ways.close}>Close</button>
			</p>
		</section>
	);
}
