/* What a person does with the flame graph of tests/unit/sample_report.h, and what the page then shows. run.sh puts this
 * behind the page's own script and reads data-wrong from the page: "" or the first thing that is not as it should be. */
(function () {
	"use strict";
	const svg = document.documentElement;
	const frame = (name) => Array.from(document.querySelectorAll("g.f")).find((g) => g.dataset.n === name);
	const width = (name) => +frame(name).querySelector("rect").getAttribute("width");
	const is = (name, state) => frame(name).classList.contains(state);
	const note = () => document.getElementById("found").textContent;
	const input = document.getElementById("search");
	const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
	const search = (words) => {
		input.value = words;
		input.dispatchEvent(new Event("input", { bubbles: true }));
	};
	function expect(holds, what) {
		if (!holds)
			throw new Error(what);
	}
	function near(value, expected, what) {
		expect(Math.abs(value - expected) < 0.01 * expected, what + ": " + value + " instead of " + expected);
	}

	try {
		const whole = width("main");
		near(width("hot_loop"), 0.6 * whole, "hot_loop's width");
		near(width("mid"), 0.3 * whole, "mid's width");
		frame("mid").querySelector("rect").dispatchEvent(new MouseEvent("click", { bubbles: true }));
		near(width("mid"), whole, "mid's width when zoomed");
		near(width("memcpy"), whole, "its child's width");
		expect(is("hot_loop", "gone") && is("main", "up") && !is("main", "gone"), "what is around a zoomed frame");
		expect(!document.getElementById("reset").disabled, "reset is there");
		press("Escape");
		near(width("hot_loop"), 0.6 * whole, "hot_loop's width after Escape");
		expect(!is("hot_loop", "gone") && document.getElementById("reset").disabled, "all is as it was");

		search("MEM|hot");
		expect(note() === "2 frames match, 90.0 % in all", "search says: " + note());
		expect(is("memcpy", "hit") && is("hot_loop", "hit") && is("mid", "dim") && !is("mid", "hit"), "hits and others");
		search("m(");
		expect(input.classList.contains("bad") && note() === "0 frames match, 0.0 % in all", "no expression: " + note());
		search("memc");
		expect(!input.classList.contains("bad") && note() === "1 frame matches, 30.0 % in all", "one hit: " + note());
		document.getElementById("reset").dispatchEvent(new MouseEvent("click", { bubbles: true }));
		expect(note() === "" && input.value === "" && !is("mid", "dim"), "reset ends the search");

		frame("main").focus();
		press("ArrowDown");
		expect(document.activeElement === frame("hot_loop"), "down goes to the largest child");
		frame("memcpy").querySelector("rect").dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
		expect(document.getElementById("bar").textContent.includes("memcpy"), "the bar says what is pointed at");
		press("ArrowRight");
		press("ArrowDown");
		expect(document.activeElement === frame("memcpy"), "right and down");
		press("ArrowUp");
		press("Enter");
		near(width("mid"), whole, "mid's width after Enter");
		svg.setAttribute("data-wrong", "");
	} catch (error) {
		svg.setAttribute("data-wrong", error.message);
	}
})();
