// Links to the hosted page. A link works once, within ten minutes.
import type { Link, NewLink } from "../models.js";
import type { RequestOptions, Transport } from "../transport.js";

export class Links {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Makes a link for one applicant. A lost response is not repeated; make a new link, because links cost nothing. */
  create(link: NewLink, options?: RequestOptions): Promise<Link> {
    return this.#transport.json("createSessionLink", { json: link }, options);
  }
}
