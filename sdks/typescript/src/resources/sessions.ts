// Hosted sessions: what became of a link or an invitation after the applicant opened it.
import type { components } from "../generated/openapi.js";
import type { Session } from "../models.js";
import { sleep, type RequestOptions, type Transport } from "../transport.js";

const INTERVAL_MS = 3_000;

/** Options of {@link Sessions.waitForOutcome}. */
export interface WaitOptions extends RequestOptions {
  /** Milliseconds between two requests; by default 3,000. */
  intervalMs?: number;
}

export class Sessions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async get(sessionId: string, options?: RequestOptions): Promise<Session> {
    return decoded(await this.#transport.json("getVerificationResult", { path: { sessionId } }, options));
  }

  /**
   * Polls a session until its status is final, or until a reviewer must decide (`metadata.stage` is `in_review`). Use
   * `signal` to stop earlier. A webhook is better if you have many sessions.
   */
  async waitForOutcome(sessionId: string, options: WaitOptions = {}): Promise<Session> {
    for (;;) {
      const session = await this.get(sessionId, options);
      if (session.status !== "pending" || session.metadata.stage === "in_review") return session;
      await sleep(options.intervalMs ?? INTERVAL_MS, options.signal);
    }
  }
}

function decoded(session: components["schemas"]["SessionBody"]): Session {
  const result = JSON.parse(session.result);
  return { ...session, result: Object.keys(result).length ? result : null } as Session;
}
