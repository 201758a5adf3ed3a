// Attempts: each verification that the account recorded, with its submission and its response. A key with permissions
// also reads the evidence, decides and notes.
import type {
  AttemptFilter,
  AttemptsPage,
  AttemptSummary,
  DecisionOutcome,
  Evidence,
  NewDecision,
  NewNote,
  WholeAttempt,
} from "../models.js";
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

  /** What reviewers see. The key needs the permission `read-evidence`; the audit trail records the call. */
  async evidence(logId: number, options?: RequestOptions): Promise<Evidence> {
    return (await this.#transport.json("getAttemptEvidence", { path: { logId } }, options)) as Evidence;
  }

  /** A submitted file, byte for byte, by a name in `files` of the evidence. Never let a browser open it on your site. */
  async file(logId: number, name: string, options?: RequestOptions): Promise<ArrayBuffer> {
    return await this.#transport.bytes("getAttemptFile", { path: { logId, name } }, options);
  }

  /**
   * Declines an attempt, or proposes to approve it: an approval takes effect when people agree in the portal. The key
   * needs the permission `decide`. Repeating a decision changes nothing.
   */
  async decide(logId: number, decision: NewDecision, options?: RequestOptions): Promise<DecisionOutcome> {
    const input = { path: { logId }, json: decision };
    return (await this.#transport.json("decideAttempt", input, options)) as DecisionOutcome;
  }

  /** Adds a note. The key needs the permission `decide`. */
  async addNote(logId: number, note: NewNote, options?: RequestOptions): Promise<void> {
    await this.#transport.json("addAttemptNote", { path: { logId }, json: note }, options);
  }
}
