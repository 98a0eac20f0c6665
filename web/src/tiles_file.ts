/* tiles_file.ts: the timeline embedded in the page (src/export/html/lanes.c): tracks as columns of bytes, each unpacked when
 * first needed, with the same answers as the server's. */
import type { Arrows, Bins, Found, Lanes, Path, View, Wanted } from "./tiles";
import { type Columns, Fold } from "./tiles_fold";

const MAGIC = 0x31464c53; /* "SLF1" */
const LIMIT = 1000;

interface Head extends Lanes {
	arrows: Arrows;
	path: Path;
}

/* Reads a column: the number of bytes per value, then the lowest bytes of all values, then the next bytes. */
class Reader {
	constructor(private bytes: Uint8Array, private at: number, private count: number) {}

	numbers(): Float64Array {
		const { bytes, count } = this, width = bytes[this.at++]!, found = new Float64Array(count);
		for (let byte = 0, scale = 1; byte < width; byte++, scale *= 256, this.at += count)
			for (let i = 0; i < count; i++)
				found[i]! += bytes[this.at + i]! * scale;
		return found;
	}

	reals(): Float64Array {
		const { bytes, count } = this, width = bytes[this.at++]!, found = new Uint8Array(8 * count);
		for (let byte = 0; byte < width; byte++, this.at += count)
			for (let i = 0; i < count; i++)
				found[8 * i + byte] = bytes[this.at + i]!;
		return new Float64Array(found.buffer);
	}
}

function unpack(form: Bins["form"], bytes: Uint8Array, at: number, count: number): Columns {
	const reader = new Reader(bytes, at, count), start = reader.numbers();
	const length = form === "moments" ? new Float64Array(count) : reader.numbers();
	for (let i = 0, end = 0; i < count; i++) {
		start[i]! += end; /* the file has the gap to the previous row */
		end = start[i]! + length[i]!;
	}
	if (form === "curve")
		return { form, start, length, least: reader.reals(), most: reader.reals() };
	const name = Uint32Array.from(reader.numbers()), many = reader.numbers().map((more) => more + 1);
	return form === "moments" ? { form, start, length, name, many } : { form, start, length, name, many, busy: reader.numbers().map((idle, i) => length[i]! - idle) };
}

export class FileLanes {
	readonly head: Head;
	private blocks: [at: number, count: number][] = [];
	private folds = new Map<number, Fold>();
	private bytes: Uint8Array;
	constructor(buffer: ArrayBuffer) {
		const view = new DataView(buffer), wrong = () => new Error("The timeline in this file is damaged.");
		this.bytes = new Uint8Array(buffer);
		if (buffer.byteLength < 8 || view.getUint32(0, true) !== MAGIC)
			throw wrong();
		let at = 8 + view.getUint32(4, true);
		if (at > buffer.byteLength)
			throw wrong();
		this.head = JSON.parse(new TextDecoder().decode(this.bytes.subarray(8, at))) as Head;
		for (let i = 0; i < this.head.lanes.length; i++) {
			if (at + 8 > buffer.byteLength || at + 8 + view.getUint32(at, true) > buffer.byteLength)
				throw wrong();
			this.blocks.push([at + 8, view.getUint32(at + 4, true)]);
			at += 8 + view.getUint32(at, true);
		}
	}

	private fold(id: number): Fold {
		let fold = this.folds.get(id);
		if (!fold) {
			const lane = this.head.lanes[id], block = this.blocks[id];
			if (!lane || !block)
				throw new Error(`There is no track ${id}.`);
			fold = new Fold(unpack(lane.form, this.bytes, ...block));
			this.folds.set(id, fold);
		}
		return fold;
	}

	tiles({ lanes, from, to, width }: View): Map<number, Bins> {
		return new Map(lanes.map((id) => [id, this.fold(id).bins(from, to, width)]));
	}

	find({ names, from = 0, to = Infinity, shortest = 0, longest = Infinity, thread = 0, limit = LIMIT }: Wanted): Found {
		const bits = new Uint8Array(this.head.names.length), slices: Found["slices"] = [];
		names.forEach((name) => (bits[name] = 1));
		for (const lane of this.head.lanes) {
			if (lane.form === "curve" || (thread && lane.thread && lane.thread !== thread))
				continue;
			const fold = this.fold(lane.id);
			for (let i = fold.next(0, bits, shortest, longest); i >= 0; i = fold.next(i + 1, bits, shortest, longest)) {
				const slice = fold.at(i);
				if (slice.start > to)
					break;
				if (slice.start + slice.length >= from)
					slices.push({ lane: lane.id, ...slice });
			}
		}
		slices.sort((a, b) => a.start - b.start || a.lane - b.lane);
		return { count: this.head.thinned_ns ? null : slices.length, slices: slices.slice(0, limit) };
	}

	arrows(from: number, to: number, limit: number): Arrows {
		const all = this.head.arrows, inside = all.arrows.filter((arrow) => Math.max(arrow.from, arrow.to) >= from && Math.min(arrow.from, arrow.to) <= to);
		return { arrows: inside.slice(0, limit), omitted: Math.max(0, inside.length - limit) + all.omitted };
	}

	path(from: number, to: number, limit: number): Path {
		const all = this.head.path, inside = all.steps.filter((step) => step.start + step.length >= from && step.start <= to);
		return { steps: inside.slice(0, limit), omitted: Math.max(0, inside.length - limit) + all.omitted };
	}
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
	const own = Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
	return own.fromBase64 ? own.fromBase64(base64) : Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

/* Unpacks an element of the page (gzip in base64) and removes its text to free memory. */
export async function packed(id: string): Promise<ArrayBuffer | null> {
	const element = document.getElementById(id), text = element?.textContent;
	if (!element || !text)
		return null;
	const bytes = bytesOf(text);
	element.textContent = "";
	try {
		return await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
	} catch {
		throw new Error("This file is damaged: it could not be unpacked.");
	}
}
