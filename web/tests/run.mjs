// Runs the browser tests. A file that fails is run once more, alone: on a busy machine a browser may miss a time limit. What passes
// only then is named as flaky, so that it is seen; what fails twice fails.
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { run } from "node:test";
import { tap } from "node:test/reporters";

const folder = fileURLToPath(new URL(".", import.meta.url));
/** A file that has not ended by then never will. */
const FILE_MS = 15 * 60_000;
const names = process.argv.slice(2);
const all = (await readdir(folder)).filter((file) => file.endsWith(".test.mjs") && (!names.length || names.some((name) => file.includes(name))));

/** Runs files and says which of them failed. @param {string[]} files @param {number} concurrency @returns {Promise<string[]>} */
async function failing(files, concurrency) {
  /** @type {Set<string>} */
  const failed = new Set();
  const stream = run({ files: files.map((file) => folder + file), concurrency, timeout: FILE_MS });
  stream.on("test:fail", ({ file }) => failed.add(files.find((each) => file?.endsWith(each)) ?? "?"));
  const report = /** @type {AsyncIterable<string>} */ (/** @type {unknown} */ (stream.compose(tap)));
  for await (const text of report) process.stdout.write(text);
  return [...failed];
}

const first = await failing(all.sort(), 3);
const second = first.length ? await failing(first.includes("?") ? all : first, 1) : [];
for (const file of first) console.log(`# ${second.includes(file) ? "FAILED twice" : "flaky: passed alone"}: ${file}`);
process.exitCode = second.length ? 1 : 0;
