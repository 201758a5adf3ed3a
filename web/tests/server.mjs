// A sandbox server for tests: `bonafide serve --demo` in a temporary folder on a free port, and its command line.
import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const program = process.env.BONAFIDE_PROGRAM ?? join(root, "target/debug/bonafide");
export const specimensFolder = join(root, "specimens");

/** @typedef {{name: string, expect: string, fields: Record<string, string>, files: Record<string, string>, flow: string}} Specimen */

/** A rendered specimen by name. @param {string} name */
export async function specimen(name) {
  /** @type {Specimen[]} */
  const all = JSON.parse(await readFile(join(specimensFolder, "index.json"), "utf8"));
  const found = all.find((entry) => entry.name === name);
  if (!found) throw new Error(`no specimen ${name}`);
  return { ...found, file: (/** @type {string} */ field) => join(specimensFolder, found.files[field] ?? "") };
}

/**
 * Starts a server. It trusts forwarded addresses from this machine, so that a test can come from any country.
 * @param {string[]} more further arguments of `serve`
 * @param {number} port by default a free one
 */
export async function startServer(more = [], port = 0) {
  const data = await mkdtemp(join(tmpdir(), "bonafide-web-"));
  const child = spawn(
    program,
    ["serve", "--demo", "--data", data, "--listen", `127.0.0.1:${port}`, "--specimens", specimensFolder,
      "--models", join(root, "models"), "--engines-on-demand", "--trusted-proxies", "127.0.0.1", ...more],
    { cwd: root, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, RUST_LOG: "debug,hyper=info,sqlx=info,h2=info" } },
  );
  let log = "";
  child.stderr.on("data", (chunk) => (log += chunk));
  child.stdout.on("data", (chunk) => (log += chunk));

  /** @type {{baseUrl: string, merchantId: string, apiKey: string, secret: string, groupId: string, flows: Record<string, string>}} */
  const demo = await (async () => {
    for (let tries = 0; tries < 1800; tries++) {
      if (child.exitCode !== null) throw new Error(`the server stopped:\n${log}`);
      try {
        return JSON.parse(await readFile(join(data, "demo.json"), "utf8"));
      } catch {
        await sleep(100);
      }
    }
    throw new Error(`the server did not start within three minutes:\n${log}`);
  })();

  let count = 0;

  /** Runs `bonafide …` on the server's data. @param {string[]} args */
  async function cli(...args) {
    const { stdout } = await promisify(execFile)(program, [...args, "--data", data], { cwd: root });
    return stdout;
  }

  /** Runs SQL on the server's database. Only the server's clock counts, so a test changes the stored times. @param {string} statement */
  const sql = (statement) =>
    promisify(execFile)("python3", ["-c", "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], timeout=20); db.execute(sys.argv[2]); db.commit()",
      join(data, "bonafide.db"), statement]);

  /** Calls to the sandbox of one merchant. @param {string} merchantId @param {{apiKey: string, secret: string}} key */
  function as(merchantId, { apiKey, secret }) {
    const authorization = `Basic ${Buffer.from(`${apiKey}:${secret}`).toString("base64")}`;

    /** Calls the API as the merchant. @param {string} method @param {string} path @param {object} [body] */
    async function api(method, path, body) {
      const answer = await fetch(demo.baseUrl + path, {
        method,
        headers: { authorization, "content-type": "application/json" },
        body: body && JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
      return answer.json();
    }

    return {
      api,
      /**
       * Creates a Flow alone in a new Group, and so a separate scope, because a face registers once per Group.
       * @param {object} flow members of the contract's §2.2, and `settings`
       */
      async flow(flow) {
        const name = `test ${++count}`;
        const file = join(data, `flow-${count}.json`);
        await writeFile(file, JSON.stringify({ name, ...flow }));
        const made = await cli("flow", "create", "--merchant", merchantId, "--file", file, "--sandbox", "--json");
        const { flowId } = JSON.parse(made);
        const { groupId } = await api("POST", "/v2/public/groups", { name, flowIds: [flowId] });
        return { flowId, groupId };
      },

      /** A link for a new user. @param {{flowId: string, groupId: string}} flow @param {object} [more] of the request @returns {Promise<string>} */
      async link(flow, userId = `user-${++count}`, more = {}) {
        return (await api("POST", "/v2/sdk/session/web-sdk-link", { ...flow, userId, ...more })).url;
      },

      /** An invitation of a new user. @param {{flowId: string, groupId: string}} flow @returns {Promise<{invitationId: string, url: string}>} */
      invite: (flow) => api("POST", "/v2/sdk/session/invitations", { ...flow, userId: `user-${++count}` }),
      /** The invitation's state that the merchant polls. @param {string} invitationId */
      invitation: (invitationId) => api("GET", `/v2/sdk/session/invitations/${invitationId}`),
      /** @param {string} invitationId */
      revoke: (invitationId) => api("POST", `/v2/sdk/session/invitations/${invitationId}/revoke`),

      /** The session's state that the merchant polls. @param {string} sessionId */
      poll: (sessionId) => api("GET", `/v2/sdk/session/verification-result/${sessionId}`),
    };
  }

  return {
    ...demo,
    ...as(demo.merchantId, demo),
    as,
    data,
    /** Of the process. */
    pid: child.pid ?? 0,
    cli,
    sql,
    /** The server's complete output. */
    log: () => log,

    async stop() {
      child.kill("SIGTERM");
      if (child.exitCode === null) await new Promise((done) => child.once("exit", done));
      await rm(data, { recursive: true, force: true });
    },
  };
}

/** @typedef {Awaited<ReturnType<typeof startServer>>} Server */

/** The members of a Flow that requests documents and a face. @param {object} more of `defaultFields` @param {string[]} types */
export const documentsFlow = (more = {}, types = ["PASSPORT"]) => ({
  defaultFields: { documentFileUpload: true, selfie: true, ocrMatch: true, ...more },
  defaultDocumentTypes: types,
});
