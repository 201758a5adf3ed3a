// Runs the browser tests, or the files whose names contain one of the given words. No file is run again: a test that
// sometimes fails waits for a time and not for a condition.
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { run } from "node:test";
import { tap } from "node:test/reporters";

const folder = fileURLToPath(new URL(".", import.meta.url));
/** Time limit of one file. */
const FILE_MS = 15 * 60_000;
const words = process.argv.slice(2);
const files = (await readdir(folder)).filter((file) => file.endsWith(".test.mjs") && (!words.length || words.some((word) => file.includes(word))));

const stream = run({ files: files.sort().map((file) => folder + file), concurrency: 3, timeout: FILE_MS });
stream.on("test:fail", () => (process.exitCode = 1));
const report = /** @type {AsyncIterable<string>} */ (/** @type {unknown} */ (stream.compose(tap)));
for await (const text of report) process.stdout.write(text);
