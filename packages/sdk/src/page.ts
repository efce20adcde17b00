import type { PageInfo } from "./generated/models.ts";
import type { Call, Http, RequestOptions } from "./http.ts";
import { ResponsePromise } from "./promise.ts";

export interface PagedBody {
  page_info: PageInfo;
}

/** One page of a list. Iterating over it continues with all following pages. */
export class Page<Item, Body extends PagedBody = PagedBody> implements AsyncIterable<Item> {
  readonly items: Item[];
  /** The response body. */
  readonly body: Body;
  readonly #next: (cursor: string) => PagePromise<Item, Body>;

  constructor(body: Body, items: Item[], next: (cursor: string) => PagePromise<Item, Body>) {
    this.body = body;
    this.items = items;
    this.#next = next;
  }

  hasNextPage(): boolean {
    return this.body.page_info.next_cursor !== undefined;
  }

  /** Returns the next page, or undefined after the last page. */
  async getNextPage(): Promise<Page<Item, Body> | undefined> {
    const { next_cursor: cursor } = this.body.page_info;
    return cursor === undefined ? undefined : this.#next(cursor);
  }

  /** Iterates over this page and all following pages. */
  async *iterPages(): AsyncGenerator<Page<Item, Body>> {
    for (let page: Page<Item, Body> | undefined = this; page; page = await page.getNextPage()) yield page;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    for await (const page of this.iterPages()) yield* page.items;
  }
}

/** A promise of a page. Iterating over it yields the items of all pages. */
export class PagePromise<Item, Body extends PagedBody = PagedBody>
  extends ResponsePromise<Page<Item, Body>>
  implements AsyncIterable<Item>
{
  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    yield* await this;
  }
}

export interface PagedCall<Item, Body> {
  call: Call;
  options: RequestOptions | undefined;
  items: (body: Body) => Item[];
  /** The query parameter for the cursor. */
  cursor: string;
}

export function requestPage<Item, Body extends PagedBody>(
  http: Http,
  paged: PagedCall<Item, Body>,
): PagePromise<Item, Body> {
  const { call, options = {}, items, cursor } = paged;
  const next = (value: string) =>
    requestPage(http, { ...paged, call: { ...call, query: { ...call.query, [cursor]: value } } });
  return new PagePromise(async ({ raw }) => {
    const { response, data } = await http.perform<Body>(call, options, raw);
    return data ? { response, data: new Page(data, items(data), next) } : { response };
  });
}
