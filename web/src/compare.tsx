/* compare.tsx: the page `compare`: two recordings side by side: verdict, overall figures, iterations, functions and zones, and
 * reasons why they are hard to compare. Every figure is a cell of `sonde diff`. */
import { useEffect, useState } from "preact/hooks";
import { type Report, type Row, type Run, type Table, table, text, value } from "./data";
import { clean, figure } from "./figure";
import { Key, type Pair, Pairs, type Ratio, Ratios, times } from "./compare_bars";
import { type Answer, Await, Notes, useWorld } from "./parts";
import { elsewhere, NOTHING, refine } from "./selection";
import { Count, DataTable, filled, Filter } from "./table";

const MOST = 20000, DRAWN = 12;

/* The comparison of the runs; while a new answer is pending, the previous one. */
export function useDiff(sections: string[], limit: number): Answer {
	const { data } = useWorld();
	const [state, set] = useState({ report: null as Report | null, error: "", waiting: true });
	const [tries, retry] = useState(0);
	useEffect(() => {
		let current = true;
		set((before) => ({ ...before, waiting: true }));
		data.diff(sections, limit).then(
			(report) => current && set({ report, error: "", waiting: false }),
			(error: Error) => current && set({ report: null, error: error.message, waiting: false }),
		);
		return () => {
			current = false;
		};
	}, [data, sections.join(), limit, tries]);
	return { ...state, again: () => retry(tries + 1) };
}

const number = (row: Row, key: string): number | null => {
	const cell = value(row, key);
	return typeof cell === "number" ? cell : null;
};

/* --- the verdict ---------------------------------------------------------------------------------------------------- */

const WORDS: Record<string, string> = {
	improved: "B is faster", regressed: "B is slower", unchanged: "No significant difference", inconclusive: "Inconclusive",
};

/* The iterations on which the overall speed-up is based. */
function decisive(report: Report): Row | undefined {
	return table(report, "diff-iterations")?.rows.find((row) => typeof report.speedup === "number" && value(row, "speedup") === report.speedup);
}

function Judgement({ report }: { report: Report }) {
	const verdict = report.verdict ?? "inconclusive", row = decisive(report);
	const low = row ? number(row, "ci95_low") : null, high = row ? number(row, "ci95_high") : null;
	return (
		<div class={`judgement ${WORDS[verdict] ? verdict : ""}`} data-verdict={verdict}>
			<h2>{WORDS[verdict] ?? clean(verdict)}</h2>
			<p class="speedup">
				{typeof report.speedup === "number"
					? <>speed-up <b data-figure="speedup">{times(report.speedup)}</b>{low !== null && high !== null && <>, 95 %: <span data-figure="interval">{times(low)} to {times(high)}</span></>}</>
					: "the speed-up is unknown"}
				{row && <>, by iterations of <code>{clean(text(row, "iteration"))}</code></>}
				{report.comparable === 0 && <strong> · not comparable</strong>}
			</p>
			<Notes notes={[...report.notes, ...report.sections.flatMap((section) => section.notes.filter((note) => note.warning))]} />
		</div>
	);
}

function Side({ run }: { run: Run }) {
	const name = run.run.toUpperCase();
	return (
		<li>
			<b>{name}</b>, {run.run === "a" ? "the baseline" : "the candidate"}: <a href={elsewhere(NOTHING, "overview", { run: run.run === "b" ? "b" : "" })}><code>{clean(run.file)}</code></a>
			{run.command && <> of <code>{clean(run.command)}</code></>}
		</li>
	);
}

/* --- parts ------------------------------------------------------------------------------------------------------------ */

const TOOK: [key: string, title: string, unit: "ns" | "bytes"][] = [
	["wall_ns", "wall time", "ns"], ["cpu_ns", "CPU time", "ns"], ["user_ns", "user", "ns"], ["system_ns", "system", "ns"], ["peak_rss_b", "peak RSS", "bytes"],
];

function Totals({ totals }: { totals: Table }) {
	const [a, b] = totals.rows;
	if (!a || !b)
		return null;
	const pairs = (unit: "ns" | "bytes"): Pair[] => TOOK.filter((at) => at[2] === unit && (number(a, at[0]) !== null || number(b, at[0]) !== null))
		.map(([key, name]) => ({ name, a: number(a, key), b: number(b, key) }));
	return (
		<section aria-labelledby="took">
			<h2 id="took">{clean(totals.title)}</h2>
			<Pairs pairs={pairs("ns")} unit="ns" label="Times of both runs" />
			<Pairs pairs={pairs("bytes")} unit="bytes" label="Memory of both runs" />
			<DataTable table={filled(totals)} />
			<Notes notes={totals.notes} />
		</section>
	);
}

function Iterations({ iterations }: { iterations: Table }) {
	const ratios: Ratio[] = iterations.rows.filter((row) => number(row, "speedup") !== null).slice(0, DRAWN).map((row) => ({
		name: text(row, "iteration"), value: number(row, "speedup") ?? 1, low: number(row, "ci95_low"), high: number(row, "ci95_high"), verdict: text(row, "verdict"),
	}));
	return (
		<section aria-labelledby="iterations">
			<h2 id="iterations">{clean(iterations.title)}</h2>
			{ratios.length > 0 && <Ratios ratios={ratios} label="Speed-up of iterations" />}
			<DataTable table={iterations} />
			<Notes notes={iterations.notes} />
		</section>
	);
}

function change(row: Row) {
	const by = number(row, "share_change"), p = number(row, "p");
	return by === null ? null : <> ({by > 0 ? "+" : ""}{figure("ratio", by, row.plus_minus?.["share_change"] ?? 0)}{p !== null && p < 0.01 ? ", significant" : ""})</>;
}

function Functions({ functions }: { functions: Table }) {
	const { selection } = useWorld(), words = selection.search;
	const pairs = functions.rows.filter((row) => number(row, "baseline_ns") || number(row, "candidate_ns")).slice(0, DRAWN).map((row): Pair => ({
		name: text(row, "function"), a: number(row, "baseline_share"), b: number(row, "candidate_share"), half: row.plus_minus?.["share_change"] ?? 0, after: change(row),
	}));
	const linked = (row: Row, key: string) => key === "function" && text(row, key) && text(row, key) !== "(unnamed)"
		? <a href={elsewhere(NOTHING, "functions", { run: selection.run, focus: text(row, key) })}>{clean(text(row, key))}</a> : undefined;
	return (
		<section aria-labelledby="functions">
			<h2 id="functions">{clean(functions.title)}</h2>
			<Pairs pairs={pairs} unit="ratio" label="Shares of CPU time of both runs" />
			<p><a href={elsewhere(NOTHING, "flame-difference", { run: selection.run })}>The difference as a flame graph</a></p>
			<div class="tools">
				<Filter words={words} label="Filter, a regular expression" onWords={(search) => refine(selection, { search })} />
				<Count table={functions} filter={words} />
			</div>
			<DataTable table={functions} drawn={{ filter: words, render: (row, column) => linked(row, column.key) }} />
			<Notes notes={functions.notes} />
		</section>
	);
}

function Zones({ zones }: { zones: Table }) {
	const pairs = zones.rows.slice(0, DRAWN).map((row): Pair => ({ name: text(row, "zone"), a: number(row, "baseline_self_ns"), b: number(row, "candidate_self_ns") }));
	return (
		<section aria-labelledby="zones">
			<h2 id="zones">{clean(zones.title)}</h2>
			<Pairs pairs={pairs} unit="ns" label="Self time of zones of both runs" />
			<DataTable table={filled(zones)} />
			<Notes notes={zones.notes} />
		</section>
	);
}

/* --- the page ---------------------------------------------------------------------------------------------------------- */

function Parts({ report }: { report: Report }) {
	const found = (id: string) => table(report, id);
	const totals = found("diff"), iterations = found("diff-iterations"), functions = found("diff-functions"), zones = found("diff-zones");
	return (
		<>
			<Judgement report={report} />
			<Key />
			{totals && <Totals totals={totals} />}
			{iterations && <Iterations iterations={iterations} />}
			{functions ? <Functions functions={functions} /> : <p class="wait">The runs have no CPU time by function in common.</p>}
			{zones && <Zones zones={zones} />}
		</>
	);
}

export function Compare() {
	const { runs } = useWorld();
	const answer = useDiff([], MOST);
	return (
		<>
			<h1>Compare</h1>
			{runs.length > 1 ? <ul class="sides">{runs.map((run) => <Side run={run} />)}</ul> : <p class="wait">Only one recording is open: <code>sonde view A B</code> shows two.</p>}
			{runs.length > 1 && <Await answer={answer}>{(report) => <Parts report={report} />}</Await>}
		</>
	);
}
