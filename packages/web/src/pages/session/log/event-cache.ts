import { limits } from "@outrider/contract/limits";
import type { RunEvent } from "@outrider/sdk";
import type { Blocks } from "./blocks.ts";
import { textOf } from "./event-text.ts";
import type { LogSource } from "./log-source.ts";

/** The number of events per page. It is small because a filter can show blocks that are far apart. */
const PAGE = 50;
const MAX_PAGES = 48;
const MAX_CHARACTERS = 2_000_000;
/** The delay before fetching, so that blocks that are only scrolled past are not fetched. */
const DELAY_MS = 50;
const RETRY_MS = 3_000;

const pageOf = (seq: number) => Math.floor((seq - 1) / PAGE);

const weightOf = (event: RunEvent) => 200 + textOf(event).length;

interface CachedPage {
  events: RunEvent[];
  characters: number;
}

/**
 * A bounded cache of events for the blocks near the visible area. The least recently used pages are dropped and fetched
 * again when needed.
 */
export class EventCache {
  readonly #source: LogSource;
  readonly #blocks: Blocks;
  /** The cached pages in order of use, with the most recently used page last. */
  readonly #pages = new Map<number, CachedPage>();
  #characters = 0;
  readonly #wanted = new Map<number, number>();
  readonly #fetching = new Set<number>();
  readonly #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(source: LogSource, blocks: Blocks) {
    this.#source = source;
    this.#blocks = blocks;
  }

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  notify() {
    for (const listener of this.#listeners) listener();
  }

  /** Adds the log's newest event. */
  add(event: RunEvent) {
    const number = pageOf(event.seq);
    const page = this.#pages.get(number) ?? { events: [], characters: 0 };
    // If the page's earlier events are missing, adding this event would leave a gap. The page is fetched later, when it
    // is needed.
    if (event.seq !== number * PAGE + 1 + page.events.length) return;
    page.events.push(event);
    this.#keep(number, { events: page.events, characters: page.characters + weightOf(event) });
  }

  has(block: number): boolean {
    return this.#blocks.seqs(block).every((seq) => this.#at(seq) !== undefined);
  }

  /** Returns the block's events, or undefined if some are missing. */
  events(block: number): RunEvent[] | undefined {
    const found: RunEvent[] = [];
    for (const seq of this.#blocks.seqs(block)) {
      const event = this.#at(seq);
      if (!event) return undefined;
      found.push(event);
    }
    for (const number of new Set(found.map(({ seq }) => pageOf(seq)))) {
      const page = this.#pages.get(number) as CachedPage;
      this.#pages.delete(number);
      this.#pages.set(number, page);
    }
    return found;
  }

  #at(seq: number): RunEvent | undefined {
    const number = pageOf(seq);
    return this.#pages.get(number)?.events[seq - 1 - number * PAGE];
  }

  /** Fetches the block's events while it is on screen. Returns a function that ends the request. */
  request(block: number): () => void {
    this.#wanted.set(block, (this.#wanted.get(block) ?? 0) + 1);
    this.#fetchSoon(DELAY_MS);
    return () => {
      const left = (this.#wanted.get(block) ?? 1) - 1;
      if (left > 0) this.#wanted.set(block, left);
      else this.#wanted.delete(block);
    };
  }

  #fetchSoon(ms: number) {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const [from, to] of this.#missing()) void this.#fetch(from, to);
    }, ms);
  }

  /** Groups missing pages into ranges, so that each range needs only one request. */
  #missing(): [number, number][] {
    const numbers = new Set<number>();
    for (const block of this.#wanted.keys()) {
      for (const seq of this.#blocks.seqs(block)) {
        const number = pageOf(seq);
        if (!this.#at(seq) && !this.#fetching.has(number)) numbers.add(number);
      }
    }
    const runs: [number, number][] = [];
    for (const number of [...numbers].sort((a, b) => a - b)) {
      const last = runs.at(-1);
      if (last?.[1] === number && (number + 1 - last[0]) * PAGE <= limits.eventPageSize.max)
        last[1] = number + 1;
      else runs.push([number, number + 1]);
    }
    return runs;
  }

  async #fetch(from: number, to: number) {
    const numbers = Array.from({ length: to - from }, (_, index) => from + index);
    for (const number of numbers) this.#fetching.add(number);
    try {
      const events = await this.#source.page(from * PAGE, (to - from) * PAGE);
      for (const number of numbers) {
        const begin = (number - from) * PAGE;
        const own = events.slice(begin, begin + PAGE);
        // The log may have added newer events in the meantime.
        if (own.length < (this.#pages.get(number)?.events.length ?? 0)) continue;
        this.#keep(number, { events: own, characters: own.reduce((sum, event) => sum + weightOf(event), 0) });
      }
      this.notify();
    } catch {
      // The placeholder remains visible, and the log shows the connection state.
    } finally {
      for (const number of numbers) this.#fetching.delete(number);
    }
    if (this.#missing().length > 0) this.#fetchSoon(RETRY_MS);
  }

  #keep(number: number, page: CachedPage) {
    this.#drop(number);
    this.#pages.set(number, page);
    this.#characters += page.characters;
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= MAX_PAGES && this.#characters <= MAX_CHARACTERS) return;
      if (oldest !== number) this.#drop(oldest);
    }
  }

  #drop(number: number) {
    this.#characters -= this.#pages.get(number)?.characters ?? 0;
    this.#pages.delete(number);
  }
}
