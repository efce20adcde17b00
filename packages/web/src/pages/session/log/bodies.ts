import type { RunEvent } from "@outrider/sdk";
import type { Blocks } from "./blocks.ts";
import { textOf } from "./size.ts";
import type { LogSource } from "./source.ts";

/** Few enough that blocks which lie far apart, as under a filter, do not bring much along that nobody looks at. */
const PAGE = 50;
const MOST_PAGES = 48;
const MOST_CHARACTERS = 2_000_000;
/** Who scrolls fast passes by much that need not be fetched. */
const PATIENCE_MS = 50;
const TRY_AGAIN_MS = 3_000;
const REQUEST = 1_000;

const pageOf = (seq: number) => Math.floor((seq - 1) / PAGE);

const weightOf = (event: RunEvent) => 200 + textOf(event).length;

interface Kept {
  events: RunEvent[];
  characters: number;
}

/** What the blocks near the screen say: a bounded part of the log, fetched again when it is scrolled to. */
export class Bodies {
  readonly #source: LogSource;
  readonly #blocks: Blocks;
  /** The one that was used last comes last. */
  readonly #pages = new Map<number, Kept>();
  #characters = 0;
  readonly #wanted = new Map<number, number>();
  readonly #underWay = new Set<number>();
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

  tell() {
    for (const listener of this.#listeners) listener();
  }

  /** The newest event, which the log has just passed on. */
  add(event: RunEvent) {
    const number = pageOf(event.seq);
    const page = this.#pages.get(number) ?? { events: [], characters: 0 };
    // Without the page's beginning it would have a hole; then it is fetched when somebody looks.
    if (event.seq !== number * PAGE + 1 + page.events.length) return;
    page.events.push(event);
    this.#keep(number, { events: page.events, characters: page.characters + weightOf(event) });
  }

  has(block: number): boolean {
    return this.#blocks.seqs(block).every((seq) => this.#at(seq) !== undefined);
  }

  /** Undefined where not all of it is here. */
  events(block: number): RunEvent[] | undefined {
    const found: RunEvent[] = [];
    for (const seq of this.#blocks.seqs(block)) {
      const event = this.#at(seq);
      if (!event) return undefined;
      found.push(event);
    }
    for (const number of new Set(found.map(({ seq }) => pageOf(seq)))) {
      const page = this.#pages.get(number) as Kept;
      this.#pages.delete(number);
      this.#pages.set(number, page);
    }
    return found;
  }

  #at(seq: number): RunEvent | undefined {
    const number = pageOf(seq);
    return this.#pages.get(number)?.events[seq - 1 - number * PAGE];
  }

  /** As long as somebody looks at the block; answers how to stop. */
  want(block: number): () => void {
    this.#wanted.set(block, (this.#wanted.get(block) ?? 0) + 1);
    this.#fetchSoon(PATIENCE_MS);
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

  /** Runs of pages that lie side by side, each for one request. */
  #missing(): [number, number][] {
    const numbers = new Set<number>();
    for (const block of this.#wanted.keys()) {
      for (const seq of this.#blocks.seqs(block)) {
        const number = pageOf(seq);
        if (!this.#at(seq) && !this.#underWay.has(number)) numbers.add(number);
      }
    }
    const runs: [number, number][] = [];
    for (const number of [...numbers].sort((a, b) => a - b)) {
      const last = runs.at(-1);
      if (last?.[1] === number && (number + 1 - last[0]) * PAGE <= REQUEST) last[1] = number + 1;
      else runs.push([number, number + 1]);
    }
    return runs;
  }

  async #fetch(from: number, to: number) {
    const numbers = Array.from({ length: to - from }, (_, index) => from + index);
    for (const number of numbers) this.#underWay.add(number);
    try {
      const events = await this.#source.page(from * PAGE, (to - from) * PAGE);
      for (const number of numbers) {
        const begin = (number - from) * PAGE;
        const own = events.slice(begin, begin + PAGE);
        // What the log passed on meanwhile is newer than this answer.
        if (own.length < (this.#pages.get(number)?.events.length ?? 0)) continue;
        this.#keep(number, { events: own, characters: own.reduce((sum, event) => sum + weightOf(event), 0) });
      }
      this.tell();
    } catch {
      // The reader still sees where it will stand. Whether the server can be reached at all is told by the log.
    } finally {
      for (const number of numbers) this.#underWay.delete(number);
    }
    if (this.#missing().length > 0) this.#fetchSoon(TRY_AGAIN_MS);
  }

  #keep(number: number, page: Kept) {
    this.#drop(number);
    this.#pages.set(number, page);
    this.#characters += page.characters;
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= MOST_PAGES && this.#characters <= MOST_CHARACTERS) return;
      if (oldest !== number) this.#drop(oldest);
    }
  }

  #drop(number: number) {
    this.#characters -= this.#pages.get(number)?.characters ?? 0;
    this.#pages.delete(number);
  }
}
