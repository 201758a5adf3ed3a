// Links to the hosted page. A link works once, within ten minutes.
import type { Link, LinkFilter, LinksPage, ListedLink, NewLink } from "../models.js";
import { Pages } from "../pages.js";
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

  /** Links without their URLs, newest first. Those of the last 30 days are listed. */
  list(filter: LinkFilter = {}, options?: RequestOptions): Pages<ListedLink, LinksPage> {
    return new Pages<ListedLink, LinksPage>({
      load: async (before = filter.before ?? undefined) =>
        (await this.#transport.json("listSessionLinks", { query: { ...filter, before } }, options)) as LinksPage,
      items: (page) => page.links,
      next: (page) => page.next,
    });
  }

  /** Revokes a link that nobody has opened. Otherwise, it throws `ConflictError`. */
  async revoke(linkId: string, options?: RequestOptions): Promise<ListedLink> {
    return (await this.#transport.json("revokeSessionLink", { path: { linkId } }, options)) as ListedLink;
  }
}
