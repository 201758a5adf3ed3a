// Prints the page's load times on a slow phone: 1.6 Mbit/s, 150 ms round trip, a processor four times slower. It
// fails on more than 150 kB before the camera or on a layout shift, but never because of a time.
//
//   node tests/perf.mjs [RUNS]
import { documentsFlow, specimen, startServer } from "./server.mjs";
import { newVisitor, startBrowser } from "./browser.mjs";
import { person } from "./person.mjs";

const RUNS = Number(process.argv[2] ?? 5);
const MAX_BYTES = 150_000;

const server = await startServer();
const browser = await startBrowser();
const flow = await server.flow(documentsFlow({ documentCapture: true, liveSelfie: true, dob: true }));
const passport = await specimen("pass-passport");
/** @type {{paint: number, ready: number, opened: number, camera: number, shift: number}[]} */
const runs = [];

for (let run = 0; run < RUNS; run++) {
  const visitor = await newVisitor(browser);
  const { page } = visitor;
  const devtools = await visitor.context.newCDPSession(page);
  let bytes = 0;
  devtools.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await devtools.send("Network.enable");
  await devtools.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 150,
    downloadThroughput: 1_600_000 / 8,
    uploadThroughput: 750_000 / 8,
  });
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  await page.addInitScript(() => {
    Object.assign(window, { shift: 0 });
    new PerformanceObserver((list) => {
      for (const entry of /** @type {any[]} */ (list.getEntries())) {
        // Shifts right after an input are expected and do not count (Web Vitals).
        if (!entry.hadRecentInput) Object.assign(window, { shift: Reflect.get(window, "shift") + entry.value });
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  await visitor.open(await server.link(flow));
  const { paint, ready } = await page.evaluate(() => ({
    paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
    ready: performance.getEntriesByType("navigation").map((entry) => /** @type {PerformanceNavigationTiming} */ (entry).domContentLoadedEventEnd)[0] ?? NaN,
  }));
  const opened = bytes;
  const me = person(page, passport);
  await me.toPicture();
  // Bytes that load while the applicant reads count too.
  await page.waitForTimeout(2000);
  const shift = await page.evaluate(() => Number(Reflect.get(window, "shift")));
  runs.push({ paint, ready, opened, camera: bytes, shift });
  await visitor.close(server);
}
await browser.close();
await server.stop();

/** @param {keyof (typeof runs)[0]} key */
const median = (key) => runs.map((run) => run[key]).sort((a, b) => a - b)[Math.floor(RUNS / 2)] ?? NaN;
console.log(`median of ${RUNS} visits at 1.6 Mbit/s, 150 ms, processor slowed four times`);
console.log(`first contentful paint      ${Math.round(median("paint"))} ms`);
console.log(`usable (scripts have run)   ${Math.round(median("ready"))} ms`);
console.log(`bytes, open screen          ${median("opened")}`);
console.log(`bytes before the camera     ${median("camera")}`);
console.log(`layout shift to the camera  ${Math.max(...runs.map((run) => run.shift)).toFixed(4)}`);
if (median("camera") > MAX_BYTES) {
  console.error(`more than ${MAX_BYTES} bytes before the camera`);
  process.exitCode = 1;
}
if (runs.some((run) => run.shift > 0)) {
  console.error("the layout shifted without a press");
  process.exitCode = 1;
}
