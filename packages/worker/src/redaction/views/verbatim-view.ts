import { type Automaton, folded } from "../automaton.ts";
import type { ByteWindow } from "../byte-window.ts";
import type { SpanList } from "../span-list.ts";
import type { View } from "./view.ts";

/** Reads the text as it is. */
export class VerbatimView implements View {
  readonly #automaton: Automaton;
  readonly #spans: SpanList;
  #state = 0;
  #position = 0;

  constructor(automaton: Automaton, spans: SpanList) {
    this.#automaton = automaton;
    this.#spans = spans;
  }

  scan({ bytes, base, end }: ByteWindow, from: number) {
    const automaton = this.#automaton;
    const { firstStates, matchLength } = automaton;
    let state = this.#state;
    for (let index = from - base; index < end - base; index++) {
      const byte = bytes[index] as number;
      state = state === 0 ? (firstStates[byte] as number) : automaton.next(state, folded[byte] as number);
      const length = matchLength[state] as number;
      if (length !== 0) this.#spans.add(base + index + 1 - length, base + index + 1);
    }
    this.#state = state;
    this.#position = end;
  }

  end() {}

  openFrom(): number {
    return this.#state === 0
      ? Number.POSITIVE_INFINITY
      : this.#position - (this.#automaton.depth[this.#state] as number);
  }

  reset() {
    this.#state = 0;
  }
}
