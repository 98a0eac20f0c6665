/* overview.tsx: the page `overview`: what to fix first, figures of the run, what was lost, what was not recorded and how to
 * record it, and the overhead of recording. Every figure is a cell of the sections findings, summary and functions. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { type Report, type Row, type Table, table, text, value } from "./data";
import { clean, figure, only, type Unit } from "./figure";
import { OverTime } from "./overview_curves";
import { Await, Command, Notes, useReport, useWorld } from "./parts";
import { elsewhere } from "./selection";
import { DataTable, filled } from "./table";

/* --- what the run took -------------------------------------------------------------------------------------------- */

/* Rows of the summary: title, the unit in which the row is shown, and the size of that unit in the row's own unit. */
const FIGURES: [metric: string, title: string, unit: Unit, scale: number][] = [
	["timing.wall_time_s", "wall time", "ns", 1e9],
	["timing.cpu_time_s", "CPU time", "ns", 1e9],
	["compute.cpu_utilization_percent", "of one CPU", "ratio", 0.01],
	["memory.peak_process_rss_b", "peak RSS", "bytes", 1],
	["memory.heap_peak_b", "peak heap", "bytes", 1],
	["run.processes", "processes", "count", 1],
	["run.threads", "threads", "count", 1],
	["samples.count", "samples", "count", 1],
	["zones.count", "zones", "count", 1],
	["lost.count", "lost", "count", 1],
];

function metric(report: Report, name: string): Row | undefined {
	return table(report, "summary")?.rows.find((row) => text(row, "metric") === name);
}

function shown(report: Report, name: string, unit: Unit, scale: number): string {
	const row = metric(report, name), found = row ? value(row, "value") : null;
	if (typeof found !== "number")
		return "–";
	const said = figure(unit, found * scale);
	return text(row!, "unit").endsWith("at least") ? `≥ ${said.replace(/^<0\.1/, "0.0")}` : said; /* "≥ <0.1" is no bound */
}

/* Figures that are known only at the end of a run, or never if its end was not seen. Readings of the processes give
 * lower bounds for them. */
const READ: Record<string, (rows: Row[], wall: number) => number | null> = {
	"timing.cpu_time_s": (rows) => sumOf(rows) / 1e9,
	"compute.cpu_utilization_percent": (rows, wall) => (wall > 0 ? sumOf(rows) / wall * 100 : null),
	"memory.peak_process_rss_b": (rows) => Math.max(...rows.map((row) => Number(value(row, "peak_rss_b") ?? 0))) || null,
};

function sumOf(rows: Row[]): number {
	return rows.reduce((sum, row) => sum + Number(value(row, "cpu_ns") ?? 0), 0);
}

/* The summary, in which readings replace unknown figures. */
function completed(report: Report, read: Report | null): Report {
	const rows = (read ? table(read, "resources")?.rows : undefined) ?? [], wall = metric(report, "timing.wall_time_s");
	if (!rows.length)
		return report;
	const wallNs = wall ? Number(value(wall, "value") ?? 0) * 1e9 : 0;
	const fill = (row: Row): Row => {
		const found = value(row, "value") === null ? READ[text(row, "metric")]?.(rows, wallNs) : null;
		return typeof found === "number" ? { ...row, value: found, unit: `${text(row, "unit")}, so far: at least` } as Row : row;
	};
	return { ...report, sections: report.sections.map((section) => (section.kind === "table" && section.id === "summary" ? { ...section, rows: section.rows.map(fill) } : section)) };
}

function isUnknown(report: Report): boolean {
	return Object.keys(READ).some((name) => {
		const row = metric(report, name);
		return !!row && value(row, "value") === null;
	});
}

function ReadFigures({ report }: { report: Report }) {
	const { live } = useWorld(), read = useReport(["resources"], {}, 100000);
	const shown = completed(report, read.report);
	return (
		<>
			<Figures report={shown} />
			{shown !== report && <p class="count" data-fact="read">≥: lower bounds, from readings of the processes {live ? "so far; totals are known when the run has ended" : "while they ran; totals are unknown"}.</p>}
		</>
	);
}

/* The time that the figures refer to: the page lags behind a live run. */
function AsOf({ report }: { report: Report }) {
	const { live } = useWorld();
	return live ? <p class="count" data-fact="as-of">As of {shown(report, "timing.wall_time_s", "ns", 1e9)} of the run; slow sections are updated less often.</p> : null;
}

function Figures({ report }: { report: Report }) {
	const there = FIGURES.filter(([name]) => metric(report, name) && (name !== "zones.count" || value(metric(report, name)!, "value") !== 0));
	return (
		<dl class="figures">
			{there.map(([name, title, unit, scale]) => (
				<div data-metric={name} title={clean(metric(report, name)?.absent?.["value"] ?? text(metric(report, name)!, "unit"))}>
					<dt>{title}</dt>
					<dd>{shown(report, name, unit, scale)}</dd>
				</div>
			))}
		</dl>
	);
}

/* --- findings ----------------------------------------------------------------------------------------------------- */

/* The page or section with the figures that a rule used. */
const EVIDENCE: Record<string, string> = {
	"hot-function": "functions", "false-sharing": "functions", "many-calls": "zones", "page-faults": "resources",
	"allocation-churn": "temporary", "memory-hotspot": "peak", "memory-leak": "leaks", fragmentation: "heap",
	"lock-contention": "locks", "interpreter-lock": "locks", imbalance: "threads", serial: "threads", "starved-of-cpu": "machine",
	"hand-over": "critical-path", "sleep-polling": "waits", "process-start": "processes", "small-writes": "io", "small-reads": "io",
	fsync: "io", loading: "io-phases", "blocked-on-files": "io", "device-starved": "devices", "tiny-kernels": "devices", "device-idle": "devices",
	"device-gap": "devices", "pageable-copies": "devices", "blocking-copies": "devices", "step-sync": "devices", "serial-copies": "devices", "small-copies": "devices",
	"low-occupancy": "devices", "small-grid": "devices", "ragged-blocks": "devices", "device-allocations": "devices", "device-full": "devices", "device-reserve": "devices", "device-slowed": "machine", "exposed-communication": "devices", "late-rank": "devices", "staged-copies": "devices", "idle-matrix-units": "devices",
};

function gain(row: Row): string {
	const saves = value(row, "saves_ns"), bytes = value(row, "bytes"), share = value(row, "saves_share"), factor = value(row, "expected_speedup");
	const most = value(row, "at_most_ns"), least = value(row, "at_most_speedup"), within = text(row, "within");
	/* as in src/export/text/advice.c: no factor for a gain that rounds to nothing or is not credible */
	const faster = (by: unknown) => (typeof by === "number" && by >= 1.005 && by <= 10 ? `, ${by.toFixed(2)}× faster` : "");
	if (typeof saves === "number")
		return `saves about ${figure("ns", saves)}${typeof share === "number" ? ` (${figure("ratio", share)} of the span)` : ""}${faster(factor)}` +
			(typeof most !== "number" ? "" : `; at most ${figure("ns", most)}${within ? ` within ${clean(within)}` : ""}${faster(least)}`);
	return typeof bytes === "number" ? `${figure("bytes", bytes)} of memory; no time` : "unknown";
}

/* Rules about which thread waited when, and for which other thread. */
const IN_TIME = new Set([
	"lock-contention", "interpreter-lock", "imbalance", "serial", "starved-of-cpu", "hand-over", "sleep-polling", "process-start", "loading",
	"blocked-on-files", "many-calls", "device-starved", "tiny-kernels", "device-idle", "device-gap", "blocking-copies", "step-sync", "serial-copies",
]);

function InTime({ row }: { row: Row }) {
	const { selection, recording } = useWorld(), rule = text(row, "rule");
	if (!recording.timeline || !IN_TIME.has(rule))
		return null;
	const to = elsewhere(selection, "timeline", rule === "many-calls" ? { search: only(text(row, "subject")) } : {});
	return <a href={to} aria-label={`On the timeline: ${clean(text(row, "title"))}`}>timeline</a>;
}

function Evidence({ row }: { row: Row }) {
	const { selection, recording } = useWorld();
	const section = EVIDENCE[text(row, "rule")] ?? "";
	if (!recording.sections.includes(section))
		return null;
	const page = ["functions", "zones", "devices"].includes(section);
	const to = page ? elsewhere(selection, section, section === "functions" ? { focus: text(row, "subject").split(", which calls ")[0] } : {}) : elsewhere(selection, "section", { section });
	return <a href={to} aria-label={`Evidence of: ${clean(text(row, "title"))}`}>evidence</a>;
}

/* Rules about the system or about concurrent threads. A rule's share of the critical path is part of its evidence. */
const OF_ALL = new Set(["starved-of-cpu", "imbalance", "serial", "hand-over", "lock-contention", "interpreter-lock", "process-start", "profiler-cost"]);

/* True for findings that cover all threads although one is selected. */
function isOfAll(row: Row): boolean {
	return OF_ALL.has(text(row, "rule")) || text(row, "evidence").includes("critical path");
}

function Finding({ row }: { row: Row }) {
	const { selection } = useWorld();
	const severity = clean(text(row, "severity")), confidence = value(row, "confidence");
	return (
		<li class={`card ${severity}`}>
			<h3><span class="severity">{severity}</span> {clean(text(row, "title"))}</h3>
			<p class="where"><code>{clean(text(row, "subject"))}</code></p>
			{selection.thread && isOfAll(row) && <p class="count" data-fact="of-all">For all threads, not only the selected one.</p>}
			<dl>
				<dt>gain</dt>
				<dd class="gain">{gain(row)}</dd>
				<dt>why</dt>
				<dd>{clean(text(row, "evidence"))} <Evidence row={row} /> <InTime row={row} /></dd>
				<dt>do</dt>
				<dd><ul>{text(row, "steps").split("; ").map((step) => <li>{clean(step)}</li>)}</ul></dd>
				<dt>then</dt>
				<dd><Command>{clean(text(row, "measure_again"))}</Command></dd>
			</dl>
			<p class="count">limited by {clean(text(row, "limiter"))}, confidence {typeof confidence === "number" ? figure("ratio", confidence) : "unknown"}, rule {clean(text(row, "rule"))}</p>
		</li>
	);
}

function Findings({ report }: { report: Report }) {
	const found = table(report, "findings"), { selection } = useWorld();
	const part = selection.from || selection.to;
	return (
		<>
			{(selection.thread || part) && (
				<p class="lead" data-fact="judged-over">
					{part ? "For the selected time. " : ""}
					{selection.thread ? "The critical path spans all threads, so findings about it, parallelism or the machine cover all threads." : ""}
				</p>
			)}
			{!found ? <p class="wait">This file does not contain the findings.</p> : found.rows.length
				? <ol class="cards">{found.rows.map((row) => <Finding row={row} />)}</ol>
				: <p class="wait">No findings in {part || selection.thread ? "the selection" : "this recording"}.</p>}
			<Notes notes={found?.notes ?? []} />
		</>
	);
}

/* --- what is not there -------------------------------------------------------------------------------------------- */

const MORE: [what: string, sections: string[], how: ComponentChildren][] = [
	["CPU time by function", ["functions"], <>why samples are missing: <Command>sonde doctor</Command></>],
	["Allocations, the heap's peak, leaks", ["heap", "peak"], <Command>sonde record --heap -- COMMAND</Command>],
	["Waits and lock contention", ["waits", "locks", "waits-sampled"], <Command>sonde record --threads -- COMMAND</Command>],
	["Files, pipes and sockets", ["io"], <Command>sonde record --io -- COMMAND</Command>],
	["Memory snapshots", ["snapshots"], <Command>sonde record --snapshot-every 10s -- COMMAND</Command>],
	["FLOP of BLAS and LAPACK", ["flop"], <Command>sonde record --blas -- COMMAND</Command>],
	["GPU activity: kernels, copies, gaps", ["devices"], <Command>sonde record --gpu -- COMMAND</Command>],
	["Energy", ["energy"], <Command>sonde record --energy -- COMMAND</Command>],
	["Zones, spans and counters of the program", ["zones", "spans", "counters"], <>the program calls <code>SONDE_ZONE("name")</code> of <code>sonde/sonde.h</code></>],
];

function Missing() {
	const { recording, data, roofline } = useWorld();
	if (data.inFile && !recording.sections.includes("summary")) /* the file has only some sections of a report */
		return null;
	const missing = MORE.filter(([, sections]) => !sections.some((section) => recording.sections.includes(section)));
	if (!missing.length && roofline !== "unmeasured")
		return null;
	return (
		<section aria-labelledby="missing">
			<h2 id="missing">Not in this recording</h2>
			<p class="count">Not requested, or nothing happened.</p>
			<dl class="missing">
				{missing.map(([what, , how]) => <><dt>{what}</dt><dd>{how}</dd></>)}
				{roofline === "unmeasured" && <><dt>Roofline ceilings of this machine</dt><dd data-fact="unmeasured"><Command>sonde roofline --measure</Command> once on this machine, before recording</dd></>}
			</dl>
		</section>
	);
}

function Cost({ report }: { report: Report }) {
	if (!table(report, "summary"))
		return null;
	const row = metric(report, "cost.recorder_percent"), cpu = metric(report, "cost.recorder_cpu_time_s");
	return (
		<section aria-labelledby="cost">
			<h2 id="cost">Recording overhead</h2>
			<p>
				{cpu && value(cpu, "value") !== null
					? <>The recorder took <b data-metric="cost.recorder_cpu_time_s">{shown(report, "cost.recorder_cpu_time_s", "ns", 1e9)}</b> of CPU time</>
					: "The recorder's CPU time is unknown"}
				{row && value(row, "value") !== null && <>, <b data-metric="cost.recorder_percent">{shown(report, "cost.recorder_percent", "ratio", 0.01)}</b> {clean(text(row, "unit").replace(/^% /, ""))}</>}
				; the recording has <b data-metric="file.size_b">{shown(report, "file.size_b", "bytes", 1)}</b>.
			</p>
		</section>
	);
}

/* The machine and the options of the recording. */
function Environment() {
	const { recording } = useWorld();
	const found = useMemo((): Table => ({
		id: "environment", title: "Environment", kind: "table", notes: [], omitted: 0, rows: (recording.environment ?? []).map(({ name, value }) => ({ name, value })),
		columns: [{ key: "name", title: "what", unit: "text", basis: "measured" }, { key: "value", title: "value", unit: "text", basis: "measured" }],
	}), [recording]);
	if (!found.rows.length)
		return null;
	const of = (name: string) => recording.environment?.find((at) => at.name === name)?.value;
	const short = [of("host.cpu"), of("host.cpus") && `${of("host.cpus")} CPUs`, of("host.os"), of("host.kernel")].filter((word): word is string => !!word);
	return (
		<section aria-labelledby="environment">
			<h2 id="environment">Environment</h2>
			<p>{clean(short.join(" · "))}</p>
			<details class="twin">
				<summary>all details</summary>
				<DataTable table={found} drawn={{ most: 12, label: "Environment" }} />
			</details>
		</section>
	);
}

/* --- the page ------------------------------------------------------------------------------------------------------ */

function Hottest() {
	const { selection } = useWorld();
	const answer = useReport(["functions"], { ...selection, focus: "", weigh: "" }, 8);
	return (
		<Await answer={answer}>
			{(report) => {
				const found = table(report, "functions");
				if (!found)
					return null;
				if (!found.rows.length)
					return <p class="wait">No samples: the program was too short, or waited.</p>;
				const columns = found.columns.filter((column) => ["self_share", "self_ns", "total_share", "function", "module"].includes(column.key));
				return <DataTable table={filled({ ...found, columns })} drawn={{
					label: "The hottest functions",
					render: (row, column) => column.key === "function"
						? <a href={elsewhere(selection, "functions", { focus: text(row, "function") })}>{clean(text(row, "function"))}</a> : undefined,
				}} />;
			}}
		</Await>
	);
}

export function Overview() {
	const { recording, selection } = useWorld();
	const part = { ...selection, focus: "", weigh: "" };
	const summary = useReport(["summary"], part), findings = useReport(["findings"], part, 50);
	return (
		<>
			<h1 class="subject"><code>{clean(recording.command || recording.file)}</code></h1>
			<Await answer={summary}>
				{(report) => (
					<>
						{report.notes.some((note) => note.warning) && (
							<div class="banner" role="note" aria-label="Warnings"><Notes notes={report.notes.filter((note) => note.warning)} /></div>
						)}
						{(selection.thread || selection.from || selection.to) && <p class="lead">For the whole run, except samples, which cover the selection:</p>}
						{isUnknown(report) && recording.sections.includes("resources") ? <ReadFigures report={report} /> : <Figures report={report} />}
						<AsOf report={report} />
						<Notes notes={report.notes.filter((note) => !note.warning)} />
					</>
				)}
			</Await>
			<section aria-labelledby="findings">
				<h2 id="findings">What to fix first</h2>
				<Await answer={findings}>{(report) => <Findings report={report} />}</Await>
			</section>
			{recording.sections.includes("functions") && (
				<section aria-labelledby="hottest">
					<h2 id="hottest">The hottest functions</h2>
					<Hottest />
					<p><a href={elsewhere(selection, "functions")}>All functions</a> · <a href={elsewhere(selection, "flame")}>Flame graph</a></p>
				</section>
			)}
			<OverTime />
			<Missing />
			<Await answer={summary}>{(report) => <Cost report={report} />}</Await>
			<Environment />
		</>
	);
}
