/* Zoom, search and keyboard of the flame graph. Frames are <g class="f"> in depth-first order with their place in
 * thousand-millionths of the whole: data-x, data-w, and their level: data-d. Texts are only ever set as textContent. */
(function () {
	"use strict";
	const WHOLE = 1e9, MARGIN = 16, ROW = 20;
	const svg = document.documentElement;
	const bar = document.getElementById("bar");
	const tools = document.getElementById("tools");
	const note = document.getElementById("found");
	const frames = [];
	const above = [];
	let width = 1200, zoomed = null, letter = 7.3, wanted = null;

	for (const g of document.querySelectorAll("g.f")) {
		const at = { g, rect: g.querySelector("rect"), text: g.querySelector("text"), name: g.dataset.n,
			title: g.querySelector("title").textContent, x: +g.dataset.x, w: +g.dataset.w, d: +g.dataset.d,
			parent: null, child: null, next: null, before: null };
		above.length = at.d;
		at.parent = at.d ? above[at.d - 1] : null;
		if (at.parent) {
			at.before = at.parent.last || null;
			if (at.before)
				at.before.next = at;
			else
				at.parent.child = at;
			at.parent.last = at;
		}
		above[at.d] = at;
		frames.push(at);
	}
	if (!frames.length)
		return;
	zoomed = frames[0];

	function measure() {
		const probe = document.createElementNS("http://www.w3.org/2000/svg", "text");
		probe.textContent = "mmmmmmmmmmmmmmmmmmmm";
		svg.appendChild(probe);
		const length = probe.getComputedTextLength();
		probe.remove();
		if (length > 0)
			letter = length / 20;
	}

	function label(at, w) {
		const room = Math.floor((w - 8) / letter);
		if (room < 2)
			return "";
		const name = Array.from(at.name);
		return name.length <= room ? at.name : name.slice(0, room - 1).join("") + "…";
	}

	function place() {
		const scale = (width - 2 * MARGIN) / zoomed.w;
		for (const at of frames) {
			const up = at.d < zoomed.d && at.x <= zoomed.x && at.x + at.w >= zoomed.x + zoomed.w;
			const inside = at.d >= zoomed.d && at.x >= zoomed.x && at.x + at.w <= zoomed.x + zoomed.w;
			const x = up ? MARGIN : MARGIN + (at.x - zoomed.x) * scale;
			const w = up ? width - 2 * MARGIN : at.w * scale;
			const gone = !up && (!inside || w < 0.4);
			at.g.classList.toggle("gone", gone);
			at.g.classList.toggle("up", up);
			at.shown = !gone;
			if (gone)
				continue;
			at.rect.setAttribute("x", x.toFixed(2));
			at.rect.setAttribute("width", w.toFixed(2));
			at.text.setAttribute("x", (x + 5).toFixed(2));
			at.text.textContent = label(at, w);
		}
		document.getElementById("reset").disabled = zoomed === frames[0] && !wanted;
	}

	function resize() {
		width = Math.max(480, svg.clientWidth || window.innerWidth);
		const height = svg.getAttribute("data-h");
		svg.setAttribute("viewBox", "0 0 " + width + " " + height);
		svg.setAttribute("width", width);
		note.setAttribute("x", width - MARGIN);
		tools.setAttribute("x", width - 316);
		place();
	}

	function zoom(at) {
		zoomed = at;
		place();
		at.g.focus({ preventScroll: true });
	}

	/* A regular expression; what is none is looked for as it is. Matches inside matches are not counted twice. */
	function search(words) {
		const input = document.getElementById("search");
		wanted = null;
		input.classList.remove("bad");
		if (words) {
			try {
				wanted = new RegExp(words, "i");
			} catch (error) {
				input.classList.add("bad");
				wanted = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
			}
		}
		let sum = 0, end = -1, count = 0;
		for (const at of frames) {
			const hit = wanted !== null && at !== frames[0] && wanted.test(at.name);
			at.g.classList.toggle("hit", hit);
			at.g.classList.toggle("dim", wanted !== null && !hit);
			count += hit;
			if (hit && at.x >= end) {
				sum += at.w;
				end = at.x + at.w;
			}
		}
		note.textContent = wanted ? count + (count === 1 ? " frame matches, " : " frames match, ") + (100 * sum / WHOLE).toFixed(1) + " % in all" : "";
		place();
	}

	function show(at) {
		bar.querySelector("text").textContent = at ? at.title.replace(/\n/g, " · ") : bar.dataset.idle;
	}

	function reset() {
		document.getElementById("search").value = "";
		zoomed = frames[0];
		search("");
	}

	function step(at, key) {
		const way = { ArrowUp: "parent", ArrowDown: "child", ArrowLeft: "before", ArrowRight: "next" }[key];
		let to = at[way];
		while (to && !to.shown)
			to = to[way];
		return to;
	}

	function frame_of(event) {
		const g = event.target.closest && event.target.closest("g.f");
		return g ? frames.find((at) => at.g === g) : null;
	}

	svg.addEventListener("click", (event) => {
		const at = frame_of(event);
		if (at)
			zoom(at);
	});
	svg.addEventListener("mouseover", (event) => show(frame_of(event)));
	svg.addEventListener("focusin", (event) => show(frame_of(event)));
	window.addEventListener("keydown", (event) => {
		const input = document.getElementById("search");
		const at = frame_of(event);
		if ((event.ctrlKey || event.metaKey) && event.key === "f" && document.activeElement !== input) {
			event.preventDefault();
			input.focus();
		} else if (event.key === "Escape") {
			reset();
			frames[0].g.focus({ preventScroll: true });
		} else if (at && (event.key === "Enter" || event.key === " ")) {
			event.preventDefault();
			zoom(at);
		} else if (at && event.key.startsWith("Arrow")) {
			event.preventDefault();
			const to = step(at, event.key);
			if (to)
				to.g.focus();
		}
	});
	document.getElementById("search").addEventListener("input", (event) => search(event.target.value));
	document.getElementById("reset").addEventListener("click", reset);
	window.addEventListener("resize", resize);
	tools.removeAttribute("display");
	svg.removeAttribute("height");
	svg.setAttribute("height", svg.getAttribute("data-h"));
	svg.setAttribute("width", "100%");
	measure();
	resize();
	show(null);
})();
