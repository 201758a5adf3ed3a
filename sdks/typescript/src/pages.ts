// Lists that the server returns in pages. A page is requested only when it is needed, and no entry is left out.

/** How to load a page, and what it contains. */
export interface Paging<Item, Page> {
  readonly load: (cursor: string | undefined) => Promise<Page>;
  readonly items: (page: Page) => readonly Item[];
  /** The cursor of the next page; undefined or null after the last one. */
  readonly next: (page: Page) => string | null | undefined;
}

/**
 * A list in pages. Iterate over its entries with `for await`, or over whole pages with `pages()`. Nothing is requested
 * before that.
 */
export class Pages<Item, Page> implements AsyncIterable<Item> {
  readonly #paging: Paging<Item, Page>;

  constructor(paging: Paging<Item, Page>) {
    this.#paging = paging;
  }

  /** The first page, as the server sends it. */
  first(): Promise<Page> {
    return this.#paging.load(undefined);
  }

  /** All pages. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    let cursor: string | null | undefined;
    do {
      const page = await this.#paging.load(cursor ?? undefined);
      yield page;
      cursor = this.#paging.next(page);
    } while (cursor !== undefined && cursor !== null);
  }

  /** All entries. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* this.#paging.items(page);
  }
}
