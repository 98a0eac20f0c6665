/* roofline_picture.tsx: shared by charts of ceilings: logarithmic axes and ceiling lines; for the machine (roofline.tsx) and for
 * GPUs (roofline_devices.tsx). */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { clean, figure } from "./figure";
import { type Ceiling, powers, type Scale, segment } from "./roofline_scale";

const APART_PX = 14;

const SMALL = ["⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];

function powerText(power: number): string {
	return power >= -3 && power <= 4 ? String(10 ** power).slice(0, 6) : `10${power < 0 ? "⁻" : ""}${[...String(Math.abs(power))].map((digit) => SMALL[Number(digit)]).join("")}`;
}

/* A rate in the unit that needs few digits, because devices reach thousands of GFLOP/s. */
export function rateOf({ rate, form }: Pick<Ceiling, "rate" | "form">): string {
	const [scale, prefix] = rate < 1e4 ? [1, "G"] : rate < 1e7 ? [1e3, "T"] : [1e6, "P"];
	return `${figure("number", rate / scale)} ${prefix}${form === "peak" ? "FLOP/s" : "B/s"}`;
}

export function Axes({ scale }: { scale: Scale }) {
	const { left, right, top, bottom, x, y } = scale;
	return (
		<g aria-hidden="true">
			{powers(scale.xs, right - left, 46).map((power) => <>
				<line class="power" x1={x(power)} x2={x(power)} y1={top} y2={bottom} />
				<text data-x={power} x={x(power)} y={bottom + 17} text-anchor="middle">{powerText(power)}</text>
			</>)}
			{powers(scale.ys, bottom - top, 26).map((power) => <>
				<line class="power" x1={left} x2={right} y1={y(power)} y2={y(power)} />
				<text data-y={power} x={left - 7} y={y(power) + 4} text-anchor="end">{powerText(power)}</text>
			</>)}
			<rect class="frame" x={left} y={top} width={Math.max(1, right - left)} height={bottom - top} />
			<text x={(left + right) / 2} y={bottom + 37} text-anchor="middle">intensity, FLOP/byte</text>
			<text transform={`translate(14 ${(top + bottom) / 2}) rotate(-90)`} text-anchor="middle">GFLOP/s</text>
		</g>
	);
}

export function Ceilings({ ceilings, scale }: { ceilings: Ceiling[]; scale: Scale }) {
	const taken: Record<Ceiling["form"], number[]> = { peak: [], memory: [] }; /* starts of the labels so far */
	return (
		<g>
			{ceilings.map((ceiling) => {
				const line = segment(ceiling, ceilings, scale), words = `${clean(ceiling.name)} ${rateOf(ceiling)}`;
				if (!line)
					return null;
				const x1 = scale.x(line[0]), y1 = scale.y(line[1]), x2 = scale.x(line[2]), y2 = scale.y(line[3]), angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
				const apart = ceiling.form === "peak" ? APART_PX : APART_PX / Math.cos(Math.atan2(y2 - y1, x2 - x1)), others = taken[ceiling.form];
				const hasRoom = !others.some((at) => Math.abs(at - y1) < apart);
				if (hasRoom)
					others.push(y1);
				return (
					<g data-ceiling={ceiling.name} data-rate={ceiling.rate}>
						<line class={`${ceiling.form} ${ceiling.kind}`} x1={x1} y1={y1} x2={x2} y2={y2}><title>{words}</title></line>
						{ceiling.form === "memory" ? hasRoom && <text class="of-memory" transform={`translate(${x1 + 8} ${y1 - 5 + (8 * (y2 - y1)) / (x2 - x1)}) rotate(${angle})`}>{words}</text>
							: hasRoom && <text class="of-peak" x={scale.right - 6} y={y1 - 4} text-anchor="end">{words}</text>}
					</g>
				);
			})}
		</g>
	);
}

export function useWidth() {
	const box = useRef<HTMLDivElement>(null), [width, set] = useState(800);
	useLayoutEffect(() => {
		const measure = () => box.current && set(Math.max(200, box.current.clientWidth));
		measure();
		const watch = new ResizeObserver(measure);
		if (box.current)
			watch.observe(box.current);
		return () => watch.disconnect();
	}, []);
	return { box, width };
}
