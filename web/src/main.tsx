/* main.tsx: the page's beginning. */
import { render } from "preact";

const root = document.getElementById("app");
if (root)
	render(<h1>sonde</h1>, root);
