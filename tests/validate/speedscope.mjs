// speedscope.mjs FILE: validates FILE by the schema that speedscope publishes in its package.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "package.json"));
const Ajv = require("ajv");
const folder = join(process.cwd(), "node_modules/speedscope/dist/release");
const schema = JSON.parse(readFileSync(join(folder, "file-format-schema.json"), "utf8"));
const validate = new Ajv({ strict: false, allErrors: true }).compile(schema);
if (!validate(JSON.parse(readFileSync(process.argv[2], "utf8")))) {
	console.error(JSON.stringify(validate.errors.slice(0, 5), null, 1));
	process.exit(1);
}
