/* main.tsx: the page: header with menu, the selected part of the run, and the view named by the URL's hash. */
import { Component, type ComponentChildren, render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Compare } from "./compare";
import { FlameDifference } from "./compare_flame";
import { type DataSource, type Recording, type Run, source } from "./data";
import { Devices, OF_DEVICES } from "./devices";
import { clean, figure } from "./figure";
import { Flame } from "./flame";
import { Functions } from "./functions";
import { Memory } from "./memory";
import { LiveStrip, useLive } from "./live";
import { Overview } from "./overview";
import { useWorld, WorldContext } from "./parts";
import { Roofline, useRoofline } from "./roofline";
import { AnySection, titleOf } from "./sections";
import { elsewhere, go, link, NOTHING, type Selection, useSelection, windowed } from "./selection";
import { Timeline } from "./timeline";
import { Zones } from "./zones";

/* A page, and the section that a recording must have for it to be in the menu; "" = always. Other conditions: the
 * timeline requires tracks; comparisons require two recordings; the roofline requires a measured machine or a device
 * with known ceilings. */
const PAGES: [name: string, title: string, section: string, view: () => preact.JSX.Element][] = [
	["overview", "Overview", "", Overview],
	["timeline", "Timeline", "", Timeline],
	["flame", "Flame graph", "calltree", Flame],
	["functions", "Functions", "functions", Functions],
	["zones", "Zones", "zones", Zones],
	["memory", "Memory", "memory", Memory],
	["devices", "Devices", "devices", Devices],
	["roofline", "Roofline", "roofline", Roofline],
	["compare", "Compare", "", Compare],
	["flame-difference", "Flame difference", "", FlameDifference],
];
const OF_TWO = ["compare", "flame-difference"];
const HAVE_PAGES = ["assembly", "lines", "zone-histogram", "zone-durations", "calltree", "functions", "callers", "zones", "memory", "timeline", "leaks", "sizes", "temporary"];
const OF_ROOFLINE = ["roofline", "roofs", "device-roofs"]; /* shown by the roofline's page, if there is one */
const THREADS_MOST = 500;

/* --- light or dark ------------------------------------------------------------------------------------------------- */

type Theme = "auto" | "light" | "dark";
const THEMES: Theme[] = ["auto", "light", "dark"];

function kept(): Theme {
	try {
		const theme = localStorage.getItem("sonde-theme") as Theme;
		return THEMES.includes(theme) ? theme : "auto";
	} catch {
		return "auto";
	}
}

function useTheme(): [theme: Theme, dark: boolean, set: (theme: Theme) => void] {
	const [theme, set] = useState(kept);
	const wish = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
	const [wished, setWished] = useState(wish.matches);
	useEffect(() => {
		const changed = () => setWished(wish.matches);
		wish.addEventListener("change", changed);
		return () => wish.removeEventListener("change", changed);
	}, [wish]);
	const dark = theme === "auto" ? wished : theme === "dark";
	useEffect(() => {
		document.documentElement.dataset["theme"] = dark ? "dark" : "light";
		try {
			localStorage.setItem("sonde-theme", theme);
		} catch {
			/* the choice then lasts only as long as this page */
		}
	}, [theme, dark]);
	return [theme, dark, set];
}

/* --- the head ------------------------------------------------------------------------------------------------------ */

function Menu() {
	const { recording, roofline, runs, selection } = useWorld();
	const isThere = (name: string, section: string) => name === "roofline" ? roofline === "there" : name === "timeline" ? recording.timeline : OF_TWO.includes(name) ? runs.length > 1 : !section || recording.sections.includes(section);
	const rest = recording.sections.filter((section) => !HAVE_PAGES.includes(section) && !OF_DEVICES.includes(section) && !(roofline === "there" && OF_ROOFLINE.includes(section)));
	const at = (page: string) => (selection.page === page ? "page" : undefined);
	const pages = useRef<HTMLDivElement>(null);
	useEffect(() => { /* if the menu is too wide, the current page's entry is scrolled into view */
		const box = pages.current, here = box?.querySelector<HTMLElement>("[aria-current]");
		if (box && here)
			box.scrollLeft = here.offsetLeft - (box.clientWidth - here.offsetWidth) / 2;
	}, [selection.page, roofline, recording.sections.length]);
	return (
		<nav aria-label="Pages">
			<div class="pages" ref={pages}>
				{PAGES.filter(([name, , section]) => isThere(name, section)).map(([name, title]) => (
					<a href={elsewhere(selection, name)} aria-current={at(name)}>{title}</a>
				))}
			</div>
			{rest.length > 0 && (
				<details class="more" key={link(selection)} onKeyDown={(event) => event.key === "Escape" && (event.currentTarget.open = false)}>
					<summary class={at("section") ? "here" : ""}>More</summary>
					<ul>
						{rest.map((section) => (
							<li>
								<a href={elsewhere(selection, "section", { section })} aria-current={selection.page === "section" && selection.section === section ? "page" : undefined}>
									{titleOf(section)}
								</a>
							</li>
						))}
					</ul>
				</details>
			)}
		</nav>
	);
}

function threadName(recording: Recording, id: string): string {
	const thread = recording.threads.find((at) => String(at.id) === id);
	return thread ? `${clean(thread.name)} (${thread.tid})` : `thread ${clean(id)}`;
}

/* The selected part of the run, and the controls that change it. */
function Chosen() {
	const { data, recording, runs, selection } = useWorld();
	const isPart = !OF_TWO.includes(selection.page); /* comparisons always cover whole runs */
	const time = (ns: string, other: number) => figure("ns", ns ? Number(ns) : other);
	return (
		<div class="chosen-part">
			{runs.length > 1 && (
				<label>
					<span>Run </span>
					<select class="run" value={selection.run || "a"} onChange={(event) => location.hash = elsewhere(NOTHING, selection.page, {
						run: event.currentTarget.value === "b" ? "b" : "", section: selection.section, weigh: selection.weigh, focus: selection.focus, search: selection.search,
					})}>
						{runs.map(({ run, file }) => <option value={run}>{run.toUpperCase()}: {clean(file.replace(/^.*\//, ""))}</option>)}
					</select>
				</label>
			)}
			{isPart && recording.threads.length > 1 && !data.inFile && (
				<label>
					<span>Threads </span>
					<select value={selection.thread} onChange={(event) => go(selection, { thread: event.currentTarget.value })}>
						<option value="">all {figure("count", recording.threads.length)} threads</option>
						{recording.threads.slice(0, THREADS_MOST).map((thread) => <option value={String(thread.id)}>{threadName(recording, String(thread.id))}</option>)}
						{selection.thread && !recording.threads.slice(0, THREADS_MOST).some((thread) => String(thread.id) === selection.thread) &&
							<option value={selection.thread}>{threadName(recording, selection.thread)}</option>}
					</select>
				</label>
			)}
			{isPart && (selection.from || selection.to) && (
				<a class="chip" href={link({ ...selection, from: "", to: "", last: "" })} aria-label="Show the whole time">
					{time(selection.from, 0)} to {time(selection.to, recording.duration_ns)} ×
				</a>
			)}
		</div>
	);
}

/* An exception in one view keeps the menu and is displayed. */
class Guard extends Component<{ children: ComponentChildren }, { error: string }> {
	static getDerivedStateFromError = (error: unknown) => ({ error: String(error) });
	override render() {
		return this.state.error ? <div class="failed" role="alert"><p>This view could not be drawn: {clean(this.state.error)}</p></div> : this.props.children;
	}
}

function Page({ data, recording: first, runs }: { data: DataSource; recording: Recording; runs: Run[] }) {
	const live = useLive(data), revision = live.shown?.revision ?? 0;
	const [recording, renewed] = useState(first);
	useEffect(() => {
		if (live.state)
			data.recording().then(renewed, () => undefined); /* the strip in the header shows an error */
	}, [data, revision, !live.state]);
	const chosen = useSelection();
	const durationNs = live.shown?.duration_ns ?? recording.duration_ns;
	const selection = useMemo(() => windowed(chosen, durationNs), [chosen, durationNs]);
	const [theme, dark, setTheme] = useTheme();
	const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
	const View = selection.page === "section" ? AnySection : PAGES.find(([name]) => name === selection.page)?.[3];
	/* The tables of a file cover the whole run; a selected time range applies to its timeline only. */
	const isWhole = data.inFile && selection.page !== "timeline" && !!(selection.from || selection.to);
	const shown = useMemo(() => (isWhole ? { ...selection, from: "", to: "", last: "" } : selection), [isWhole, selection]);
	const growing = !!live.state && !live.state.ended;
	const roofline = useRoofline(data, recording, !growing);
	const world = useMemo(() => ({ data, recording, runs, selection, dark, roofline, revision, live: growing }), [data, recording, runs, selection, dark, roofline, revision, growing]);
	const inside = useMemo(() => ({ ...world, selection: shown }), [world, shown]);
	useEffect(() => {
		document.title = `${titleOf(selection.section || selection.page)}: ${clean(recording.command)}: sonde`;
	}, [selection.page, selection.section]);
	return (
		<WorldContext.Provider value={world}>
			<a class="skip" href="#main" onClick={(event) => {
				event.preventDefault();
				document.getElementById("main")?.focus();
			}}>Skip to the content</a>
			<header>
				<span class="name">sonde</span>
				<Menu />
				<LiveStrip live={live} selection={selection} />
				<Chosen />
				<button type="button" class="theme" onClick={() => setTheme(next)} aria-label={`Colours: ${theme}. Change to ${next}.`}><span>colours: </span>{theme}</button>
			</header>
			<main id="main" tabIndex={-1}>
				{isWhole && (
					<p class="banner" role="note" data-fact="whole-run">
						Figures cover the whole run, since this file has none for a part of it. Only the <a href={elsewhere(selection, "timeline")}>timeline</a> shows the selected time; <code>sonde view {clean(recording.file)}</code> also shows its figures.
					</p>
				)}
				<WorldContext.Provider value={inside}>{View ? <Guard key={viewKey(selection)}><View /></Guard> : <Unknown selection={selection} />}</WorldContext.Provider>
			</main>
			<footer>
				<code>{clean(recording.file)}</code> · {figure("ns", recording.duration_ns)}
			</footer>
		</WorldContext.Provider>
	);
}

/* The key of the view: another section is another view, which keeps no state of the previous one. */
function viewKey(selection: Selection): string {
	return selection.page + " " + selection.section;
}

function Unknown({ selection }: { selection: Selection }) {
	return <><h1>No such page</h1><p class="failed">There is no page “{clean(selection.page)}”. <a href={elsewhere(selection, "overview")}>Overview</a></p></>;
}

interface Opened {
	data: DataSource;
	recording: Recording;
	runs: Run[];
}

function App() {
	const all = useMemo(source, []), { run } = useSelection();
	const data = useMemo(() => all.of(run), [all, run]);
	const [opened, set] = useState<Opened | null>(null);
	const [error, fail] = useState("");
	useEffect(() => {
		let current = true;
		fail("");
		Promise.all([data.recording(), data.runs()]).then(([recording, runs]) => current && set({ data, recording, runs }), (reason: Error) => current && fail(reason.message));
		return () => {
			current = false;
		};
	}, [data]);
	if (error)
		return <main class="failed" role="alert"><h1>sonde</h1><p>{clean(error)}</p>{run && <p><a href="#/overview">Run A</a></p>}</main>;
	/* The key ensures that the view of a run keeps no state of another run. */
	return opened?.data === data ? <Page key={run} data={data} recording={opened.recording} runs={opened.runs} /> : <p class="wait" role="status">sonde: opening the recording…</p>;
}

/* The cookie has the token by now, so it is removed from the address bar: bookmarks and copied addresses do not contain
 * it. */
if (new URLSearchParams(location.search).has("token"))
	history.replaceState(null, "", location.pathname + location.hash);

const root = document.getElementById("app");
if (root) {
	root.textContent = "";
	render(<App />, root);
}
