// An owner of the demo account, who joins in the portal, sets up an authenticator app, and permits an API key to act on
// people, as a browser without scripts would.
import { createHmac, randomBytes } from "node:crypto";
import type { Server } from "./server.js";

const ACTS = ["read-evidence", "decide", "erase", "export"];

/** Permits the demo account's key everything. It returns the id of the responsible member, the owner. */
export async function permitKey(server: Server): Promise<string> {
  const password = randomBytes(12).toString("hex");
  const cookies = new Map<string, string>();
  const send = async (path: string, form?: [string, string][]): Promise<string> => {
    const headers: Record<string, string> = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
    if (form) headers["origin"] = server.baseUrl;
    const body = form && new URLSearchParams(form);
    const init = { method: form ? "POST" : "GET", headers, redirect: "manual" as const };
    const response = await fetch(server.baseUrl + path, body ? { ...init, body } : init);
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (name) cookies.set(name, value ?? "");
    }
    const text = await response.text();
    if (response.status >= 400) throw new Error(`${path}: ${response.status} ${text}`);
    return text;
  };
  const invitation = await server.owner();
  await send(invitation, [["name", "Robin Example"], ["email", "robin@example.com"], ["password", password]]);
  const key = part(await send("/portal/account/totp"), /name="key" value="([A-Z2-7]+)"/);
  await send("/portal/account/totp", [["key", key], ["code", totp(key)], ["proof", password]]);
  const permissions = `/portal/keys/${server.apiKey}/permissions`;
  const owner = part(await send(permissions), /name="reviewers" value="([^"]+)"/);
  await send(permissions, [...ACTS.map((act): [string, string] => ["acts", act]), ["reviewers", owner]]);
  return owner;
}

function part(page: string, pattern: RegExp): string {
  const found = pattern.exec(page)?.[1];
  if (found === undefined) throw new Error(`${pattern} is not in ${page}`);
  return found;
}

/** The current code of an authenticator app (RFC 6238: SHA-1, 30 seconds, 6 digits). */
function totp(key: string): string {
  const bits = [...key].map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0")).join("");
  const secret = Buffer.from(bits.match(/.{8}/g)?.map((byte) => parseInt(byte, 2)) ?? []);
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const hash = createHmac("sha1", secret).update(counter).digest();
  const code = hash.readUInt32BE((hash.at(-1) ?? 0) & 15) & 0x7fffffff;
  return String(code % 1_000_000).padStart(6, "0");
}
