// Attempts: each verification that the account recorded, with its submission and its response.
import type { AttemptFilter, AttemptsPage, AttemptSummary, WholeAttempt } from "../models.js";
import { Pages } from "../pages.js";
import type { RequestOptions, Transport } from "../transport.js";

export class Attempts {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** One attempt. It throws `NotFoundError` if retention or an erasure has deleted it. */
  async get(logId: number, options?: RequestOptions): Promise<WholeAttempt> {
    return (await this.#transport.json("getAttempt", { path: { logId } }, options)) as WholeAttempt;
  }

  /** Attempts, newest first. */
  list(filter: AttemptFilter = {}, options?: RequestOptions): Pages<AttemptSummary, AttemptsPage> {
    return new Pages<AttemptSummary, AttemptsPage>({
      load: async (before = filter.before ?? undefined) =>
        (await this.#transport.json("listAttempts", { query: { ...filter, before } }, options)) as AttemptsPage,
      items: (page) => page.attempts,
      next: (page) => page.next,
    });
  }
}
