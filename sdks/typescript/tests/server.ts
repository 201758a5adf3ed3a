// A sandbox server for tests: `bonafide serve --demo` in a temporary folder on a free port, its command line, a receiver
// of webhooks, and what an applicant's browser does with a link.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The repository. The package is found by its own name, so that it does not matter where this file was compiled to. */
export const root = join(dirname(fileURLToPath(import.meta.resolve("@bonafide/server/package.json"))), "../..");
const program = process.env.BONAFIDE_PROGRAM ?? join(root, "target/debug/bonafide");
const specimens = join(root, "specimens");
const START_WITHIN_MS = 180_000;
const WAIT_WITHIN_MS = 120_000;

export interface Demo {
  baseUrl: string;
  merchantId: string;
  apiKey: string;
  secret: string;
  groupId: string;
  flows: Record<string, string>;
}

/** The path of a rendered specimen. */
export const specimen = (name: string) => join(specimens, `${name}.jpg`);

/** Starts a server. */
export async function startServer(...more: string[]) {
  const data = await mkdtemp(join(tmpdir(), "bonafide-sdk-"));
  const child = spawn(
    program,
    ["serve", "--demo", "--data", data, "--listen", "127.0.0.1:0", "--specimens", specimens, "--models", join(root, "models"),
      "--engines-on-demand", ...more],
    { cwd: root, stdio: ["ignore", "pipe", "pipe"] },
  );
  let log = "";
  // It is awaited only at the end. A program that cannot be started has no exit, only an error.
  const ended = once(child, "exit").catch((error: Error) => (log += error));
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
    await rm(data, { recursive: true, force: true });
  };
  child.stderr.on("data", (chunk) => (log += chunk));
  child.stdout.on("data", (chunk) => (log += chunk));
  const demo: Demo = await until(async () => {
    if ((child.exitCode ?? child.signalCode) !== null) throw new Error(`the server stopped:\n${log}`);
    const text = await readFile(join(data, "demo.json"), "utf8").catch(() => undefined);
    return text && JSON.parse(text);
  }, START_WITHIN_MS).catch(async (error) => {
    await end("SIGKILL");
    throw error;
  });
  return {
    ...demo,
    /** Runs a command on the demo account's sandbox. */
    async cli(...args: string[]): Promise<string> {
      const account = ["--merchant", demo.merchantId, "--sandbox", "--data", data];
      const { stdout } = await promisify(execFile)(program, [...args, ...account], { cwd: root });
      return stdout.trim();
    },
    /** The path by which a new owner of the account joins the portal. */
    async owner(): Promise<string> {
      const invite = ["portal", "invite", "--merchant", demo.merchantId, "--role", "owner", "--json", "--data", data];
      const { stdout } = await promisify(execFile)(program, invite, { cwd: root });
      return new URL((JSON.parse(stdout) as { link: string }).link).pathname;
    },
    stop: () => end("SIGTERM"),
  };
}

export type Server = Awaited<ReturnType<typeof startServer>>;

/** Repeats a check until it returns something. */
export async function until<T>(check: () => T | undefined | Promise<T | undefined>, withinMs = WAIT_WITHIN_MS): Promise<T> {
  for (const end = Date.now() + withinMs; Date.now() < end; await sleep(20)) {
    const found = await check();
    if (found !== undefined) return found;
  }
  throw new Error(`the condition was not met within ${withinMs} ms`);
}

/** A message as it arrived. */
export interface Message {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Listens for webhooks. */
export async function startReceiver() {
  const messages: Message[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    messages.push({ headers: request.headers, body: Buffer.concat(chunks) });
    response.writeHead(204).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhook`,
    messages,
    stop: () => server.close(),
  };
}

export interface ExchangedLink {
  access_token: string;
  session_id: string;
  userId: string;
  flowId: string;
}

/** What the hosted page does when the applicant begins. */
export async function exchange(baseUrl: string, link: string): Promise<ExchangedLink> {
  const token = new URL(link).searchParams.get("token");
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${baseUrl}/v2/sdk/session/exchange`, { method: "POST", headers, body: JSON.stringify({ token }) });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as ExchangedLink;
}

/** What the hosted page does for an applicant who submits at once. It returns the session's id. */
export async function useLink(baseUrl: string, link: string, form: Record<string, string>): Promise<string> {
  const session = await exchange(baseUrl, link);
  const body = new FormData();
  const fields = { flowId: session.flowId, externalUserId: session.userId, ...form };
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  const authorization = `Bearer ${session.access_token}`;
  const response = await fetch(`${baseUrl}/v2/idv/verify`, { method: "POST", headers: { authorization }, body });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return session.session_id;
}
