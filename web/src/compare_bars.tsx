/* compare_bars.tsx: charts of a comparison: a bar for each run, with the interval of the change drawn on the second, and factors
 * on an axis that includes 1. Each chart is a list whose text has the same values as the drawing. */
import type { ComponentChildren } from "preact";
import { clean, figure, fixed, type Unit } from "./figure";

export interface Pair {
	name: string;
	a: number | null;
	b: number | null;
	half?: number; /* of the 95 % interval of b − a */
	after?: ComponentChildren;
}

/* As many digits as `sonde diff` shows: differences of one percent matter. */
export const times = (value: number) => `${fixed(value, 3)}×`;

const said = (unit: Unit, value: number | null) => (value === null ? "–" : figure(unit, value));

function Bar({ kind, value, most }: { kind: string; value: number | null; most: number }) {
	return <span class={`pair-bar ${kind}`} style={{ width: `${value === null || most <= 0 ? 0 : Math.min(100, (100 * value) / most)}%` }} />;
}

function Whisker({ pair, most }: { pair: Pair; most: number }) {
	if (!pair.half || pair.b === null || most <= 0)
		return null;
	const from = Math.max(0, pair.b - pair.half), to = Math.min(most, pair.b + pair.half);
	return <span class="pair-whisker" style={{ left: `${(100 * from) / most}%`, width: `${(100 * Math.max(0, to - from)) / most}%` }} />;
}

export function Key() {
	return <p class="count pair-key"><span class="swatch a" /> A, the baseline <span class="swatch b" /> B, the candidate <span class="pair-whisker still" /> 95 % interval</p>;
}

export function Pairs({ pairs, unit, label }: { pairs: Pair[]; unit: Unit; label: string }) {
	const most = pairs.reduce((sum, { a, b, half }) => Math.max(sum, a ?? 0, (b ?? 0) + (half ?? 0)), 0);
	return (
		<ul class="pairs" aria-label={label}>
			{pairs.map((pair) => (
				<li>
					<span class="pair-name" title={clean(pair.name)}>{clean(pair.name)}</span>
					<span class="pair-bars" aria-hidden="true">
						<Bar kind="a" value={pair.a} most={most} />
						<Bar kind="b" value={pair.b} most={most} />
						<Whisker pair={pair} most={most} />
					</span>
					<span class="pair-figures">{said(unit, pair.a)} → {said(unit, pair.b)}{pair.after}</span>
				</li>
			))}
		</ul>
	);
}

export interface Ratio {
	name: string;
	value: number;
	low: number | null; /* of the 95 % interval */
	high: number | null;
	verdict: string;
}

/* The axis is logarithmic, so that 2× and 0.5× are at the same distance from 1. */
export function Ratios({ ratios, label }: { ratios: Ratio[]; label: string }) {
	const all = ratios.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]).filter((at) => at > 0);
	const wide = Math.max(0.05, ...all.map((at) => Math.abs(Math.log(at)))) * 1.1;
	const place = (at: number) => 50 + (50 * Math.log(at)) / wide;
	return (
		<ul class="pairs ratios" aria-label={label}>
			{ratios.map(({ name, value, low, high, verdict }) => (
				<li>
					<span class="pair-name" title={clean(name)}>{clean(name)}</span>
					<span class="pair-bars" aria-hidden="true">
						<span class="ratio-one" />
						{low !== null && high !== null && low > 0 && <span class="pair-whisker" style={{ left: `${place(low)}%`, width: `${place(high) - place(low)}%` }} />}
						{value > 0 && <span class="ratio-dot" style={{ left: `${place(value)}%` }} />}
					</span>
					<span class="pair-figures">
						{times(value)}{low !== null && high !== null ? `, 95 %: ${times(low)} to ${times(high)}` : ", no interval"} <b class={`verdict-${verdict}`}>{clean(verdict)}</b>
					</span>
				</li>
			))}
		</ul>
	);
}
