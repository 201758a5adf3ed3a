// Webhook events as the server keeps them, for receivers that lost some. webhooks.ts verifies those that arrive.
import type { EventFilter, EventsPage, ListedEvent } from "../models.js";
import { Pages } from "../pages.js";
import type { RequestOptions, Transport } from "../transport.js";

export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The events of the last 30 days with their deliveries, newest first. */
  list(filter: EventFilter = {}, options?: RequestOptions): Pages<ListedEvent, EventsPage> {
    return new Pages<ListedEvent, EventsPage>({
      load: (before = filter.before ?? undefined) =>
        this.#transport.json("listEvents", { query: { ...filter, before } }, options),
      items: (page) => page.events,
      next: (page) => page.next,
    });
  }
}
