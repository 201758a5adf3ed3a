// Searches in the sanctions lists of the account, by yente's API. A search decides nothing about an applicant.
import type {
  Algorithms,
  Catalog,
  ListedEntity,
  ListSubject,
  ListVersions,
  MatchOptions,
  MatchResult,
  SearchOptions,
  SearchPage,
} from "../models.js";
import { Pages } from "../pages.js";
import type { RequestOptions, Transport } from "../transport.js";

/** All lists that apply to the account. */
const ALL = "default";

export class Lists {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Listed entities that resemble your subjects, at most 100, each under a name of your choice. */
  match(queries: Record<string, ListSubject>, params: MatchOptions = {}, options?: RequestOptions): Promise<MatchResult> {
    const { dataset = ALL, ...query } = params;
    return this.#transport.json("matchEntities", { path: { dataset }, query, json: { queries } }, options);
  }

  /** Entities by text. The server returns at most the first 9,999 results and refuses further pages. */
  search(text: string | undefined, params: SearchOptions = {}, options?: RequestOptions): Pages<ListedEntity, SearchPage> {
    const { dataset = ALL, ...query } = params;
    return new Pages<ListedEntity, SearchPage>({
      load: (cursor) => {
        const offset = cursor === undefined ? query.offset : Number(cursor);
        return this.#transport.json("searchLists", { path: { dataset }, query: { ...query, q: text, offset } }, options);
      },
      items: (page) => page.results,
      next: ({ offset, results, total }) => {
        const end = offset + results.length;
        return results.length && end < total.value ? String(end) : undefined;
      },
    });
  }

  /** One entity by its id. */
  entity(entityId: string, options?: RequestOptions): Promise<ListedEntity> {
    return this.#transport.json("getListedEntity", { path: { entity_id: entityId } }, options);
  }

  /** The lists that apply to the account. */
  catalog(options?: RequestOptions): Promise<Catalog> {
    return this.#transport.json("getListCatalog", {}, options);
  }

  /** The scoring algorithms. */
  algorithms(options?: RequestOptions): Promise<Algorithms> {
    return this.#transport.json("listAlgorithms", {}, options);
  }

  /** The lists with their versions, also those that do not apply to the account. */
  versions(options?: RequestOptions): Promise<ListVersions> {
    return this.#transport.json("listLists", {}, options);
  }
}
