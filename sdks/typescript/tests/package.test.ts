// The package as it is published: its files, its types in two kinds of projects, and an import without dependencies.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const sdk = dirname(fileURLToPath(import.meta.resolve("@bonafide/server/package.json")));
const CONSUMER = `
import { Bonafide, NotFoundError, verifyWebhook, type Session } from "@bonafide/server";

const bonafide = new Bonafide({ baseUrl: "https://verify.example.com", apiKey: "bf_test_a", secret: "s" });
export const session = (id: string): Promise<Session> => bonafide.sessions.get(id);
export async function names(): Promise<string[]> {
  const found: string[] = [];
  for await (const { userId } of bonafide.invitations.list({ status: "open" })) found.push(userId);
  return found;
}
// @ts-expect-error: not a status
bonafide.invitations.list({ status: "opened" });
// @ts-expect-error: externalUserId is missing
export const submit = () => bonafide.verifications.submit({ flowId: "f", firstName: "A", lastName: "B" });
export async function receive(request: Request): Promise<Response> {
  const event = await verifyWebhook(await request.text(), request.headers, "whsec_c2VjcmV0");
  if (event.type === "webhook.test") return new Response(event.data.flowId);
  return new Response(event.data.codes.join());
}
console.log(typeof verifyWebhook, NotFoundError.name, typeof bonafide.links.create);
`;
/** What the samples in the documents use without declaring it. */
const DECLARATIONS = `
declare const bonafide: import("@bonafide/server").Bonafide;
declare const groupId: string, flowId: string, sessionId: string, rawBody: string;
declare const request: import("node:http").IncomingMessage;
`;
let folder: string;
let files: string[];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "bonafide-package-"));
  // Its scripts would build again, while the other tests use the build.
  const packed = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], { cwd: sdk });
  const [{ filename, files: listed }] = JSON.parse(packed.stdout);
  files = listed.map(({ path }: { path: string }) => path);
  const installed = join(folder, "node_modules/@bonafide/server");
  await mkdir(installed, { recursive: true });
  await run("tar", ["-xzf", join(folder, filename), "-C", installed, "--strip-components", "1"]);
  await writeFile(join(folder, "package.json"), '{"type": "module"}');
  await writeFile(join(folder, "consumer.ts"), CONSUMER);
});
after(() => rm(folder, { recursive: true, force: true }));

test("the package contains the compiled files, their types and its documents only", () => {
  const others = files.filter((path) => !/^dist\/[\w/-]+\.(js|d\.ts)$/.test(path)).sort();
  assert.deepEqual(others, ["CHANGELOG.md", "LICENSE", "README.md", "package.json"]);
  for (const path of ["dist/index.js", "dist/index.d.ts", "dist/node.js", "dist/node.d.ts"]) assert.ok(files.includes(path), path);
});

test("the package has no dependencies", async () => {
  const { dependencies, peerDependencies } = JSON.parse(await readFile(join(sdk, "package.json"), "utf8"));
  assert.deepEqual([dependencies, peerDependencies], [undefined, undefined]);
});

const compiler = join(sdk, "node_modules/typescript/bin/tsc");
const tsc = (...options: string[]) =>
  run(process.execPath, [compiler, "--strict", "--target", "es2022", ...options], { cwd: folder })
    .catch((error: { stdout: string }) => assert.fail(error.stdout));

test("its types compile in a bundler's project with the types of a browser", async () => {
  await tsc("--noEmit", "--typeRoots", "none", "--lib", "es2022,dom,dom.iterable", "--module", "esnext", "--moduleResolution", "bundler",
    "consumer.ts");
});

test("its types and the samples of the documents compile in a project of Node, which runs without dependencies", async () => {
  await mkdir(join(folder, "node_modules/@types"), { recursive: true });
  for (const name of ["@types/node", "undici-types"]) await symlink(join(sdk, "node_modules", name), join(folder, "node_modules", name));
  const documents = [join(sdk, "README.md"), join(sdk, "../../docs/integrators/sdk-typescript.md")];
  const texts = await Promise.all(documents.map((file) => readFile(file, "utf8")));
  const samples = texts.flatMap((text) => [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, sample]) => sample ?? ""));
  assert.equal(samples.length, 6);
  const names = samples.map((_, n) => `sample-${n}.ts`);
  for (const [n, sample] of samples.entries()) {
    const declared = sample.includes("const bonafide") ? DECLARATIONS.replace(/.*: import.*Bonafide;/, "") : DECLARATIONS;
    await writeFile(join(folder, `sample-${n}.ts`), `${declared}${sample}export {};\n`);
  }
  await tsc("--skipLibCheck", "--types", "node", "--lib", "es2022", "--module", "nodenext", "consumer.ts", ...names);
  const { stdout } = await run(process.execPath, ["consumer.js"], { cwd: folder }).catch((error) => assert.fail(error.stderr));
  assert.equal(stdout.trim(), "function NotFoundError function");
});
