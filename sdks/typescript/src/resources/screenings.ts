// Screenings of names against the sanctions lists, and the alerts of ongoing screening. monitoring.ts screens wallets.
import type {
  NameScreening,
  NameScreeningFilter,
  NameScreeningsPage,
  ScreeningAlert,
  ScreeningAlertFilter,
  ScreeningAlertsPage,
} from "../models.js";
import { Pages } from "../pages.js";
import type { RequestOptions, Transport } from "../transport.js";

export class Screenings {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Screenings, one for each attempt, newest first. `code: 2702` selects matches. */
  list(filter: NameScreeningFilter = {}, options?: RequestOptions): Pages<NameScreening, NameScreeningsPage> {
    return new Pages<NameScreening, NameScreeningsPage>({
      load: async (before = filter.before ?? undefined) =>
        (await this.#transport.json("listNameScreenings", { query: { ...filter, before } }, options)) as NameScreeningsPage,
      items: (page) => page.screenings,
      next: (page) => page.next,
    });
  }

  /** Listings that were found to resemble an approved person, newest first. */
  alerts(filter: ScreeningAlertFilter = {}, options?: RequestOptions): Pages<ScreeningAlert, ScreeningAlertsPage> {
    return new Pages<ScreeningAlert, ScreeningAlertsPage>({
      load: async (before = filter.before ?? undefined) =>
        (await this.#transport.json("listScreeningAlerts", { query: { ...filter, before } }, options)) as ScreeningAlertsPage,
      items: (page) => page.alerts,
      next: (page) => page.next,
    });
  }
}
