/** The bytes from `start` to before `end`. */
export interface Span {
  start: number;
  end: number;
}

/** Collects the secrets that all views find. */
export class SpanList {
  #spans: Span[] = [];
  #isSorted = true;

  add(start: number, end: number) {
    const last = this.#spans.at(-1);
    this.#isSorted &&= last === undefined || start >= last.start;
    // A repetitive text has a match at every byte, so matches are merged as early as possible.
    if (last && start < last.end && end > last.start) {
      last.start = Math.min(last.start, start);
      last.end = Math.max(last.end, end);
    } else this.#spans.push({ start, end });
  }

  /** Removes and returns the spans that start before a position, in order. They may overlap. */
  takeBefore(position: number): Span[] {
    if (!this.#isSorted) this.#spans.sort((a, b) => a.start - b.start);
    this.#isSorted = true;
    const [first] = this.#spans;
    if (first === undefined || first.start >= position) return [];
    const count = this.#spans.findIndex(({ start }) => start >= position);
    return this.#spans.splice(0, count < 0 ? this.#spans.length : count);
  }

  clear() {
    this.#spans = [];
    this.#isSorted = true;
  }
}
