// Transaction monitoring: scores of crypto addresses and transactions, and alerts about those that you screened.
import type {
  Picture,
  Screening,
  ScreeningRequest,
  WalletAlert,
  WalletAlertFilter,
  WalletAlertsPage,
  WalletScreening,
  WalletScreeningFilter,
  WalletScreeningsPage,
  WholeWalletScreening,
} from "../models.js";
import { Pages } from "../pages.js";
import type { IdempotentRequestOptions, RequestOptions, Transport } from "../transport.js";

export class Monitoring {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Scores an address or a transaction from 0 (no known risk) to 100 (sanctioned). A low score does not mean "safe". */
  screen(request: ScreeningRequest, options?: IdempotentRequestOptions): Promise<Screening> {
    return this.#transport.json("screenTransaction", { json: request }, options);
  }

  /** The flow of money that led to a score. */
  picture(queryId: string, options?: RequestOptions): Promise<Picture> {
    return this.#transport.json("getScreeningPicture", { path: { queryId }, query: { format: "json" } }, options);
  }

  /** The same flow as an SVG picture. */
  pictureAsSvg(queryId: string, options?: RequestOptions): Promise<string> {
    return this.#transport.text("getScreeningPicture", { path: { queryId }, query: { format: "svg" } }, options);
  }

  /** Alerts about screened addresses that a list names only now, newest first. */
  alerts(filter: WalletAlertFilter = {}, options?: RequestOptions): Pages<WalletAlert, WalletAlertsPage> {
    return new Pages<WalletAlert, WalletAlertsPage>({
      load: (before = filter.before ?? undefined) =>
        this.#transport.json("listWalletAlerts", { query: { ...filter, before } }, options),
      items: (page) => page.alerts,
      next: (page) => page.next,
    });
  }

  /** Stored screenings, also those without a score, newest first. */
  screenings(filter: WalletScreeningFilter = {}, options?: RequestOptions): Pages<WalletScreening, WalletScreeningsPage> {
    return new Pages<WalletScreening, WalletScreeningsPage>({
      load: async (before = filter.before ?? undefined) =>
        (await this.#transport.json("listScreenings", { query: { ...filter, before } }, options)) as WalletScreeningsPage,
      items: (page) => page.screenings,
      next: (page) => page.next,
    });
  }

  /** One stored screening and its response, which is null if there is no score. */
  get(queryId: string, options?: RequestOptions): Promise<WholeWalletScreening> {
    return this.#transport.json("getScreening", { path: { queryId } }, options);
  }
}
