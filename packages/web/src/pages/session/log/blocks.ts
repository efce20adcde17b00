import type { RunEvent } from "@outrider/sdk";
import { groupOf, isFailure, isQuietTool, type Kind, kindOfEvent, kinds } from "./kinds.ts";
import { bytes, shorts, words } from "./numbers.ts";
import { linesOf } from "./size.ts";

const FAILED = 1;
const OPEN = 2;
const QUIET = 4;
const LOST = 8;
const SAID_BEFORE = 16;

/**
 * What the transcript knows of every block of a log, however long: numbers alone. What the events say is dropped as
 * soon as they have passed, and fetched again for the few blocks that are on the screen.
 */
export class Blocks {
  count = 0;
  turns = 1;
  readonly #first = words();
  readonly #last = words();
  readonly #kind = bytes();
  readonly #flags = bytes();
  readonly #turn = shorts();
  readonly #lines = shorts();
  /** For each event the number of its block plus one, or nothing. */
  readonly #blockOf = words();
  readonly #open = new Map<string, number>();
  #lastWords = "";
  #lastSeq = 0;

  add(event: RunEvent) {
    this.#lastSeq = event.seq;
    this.turns = Math.max(this.turns, event.turn);
    const kind = kindOfEvent(event);
    if (!kind) return;
    const group = groupOf(event);
    const begun = group && group.is !== "first" ? this.#open.get(group.key) : undefined;
    const block = begun ?? this.#begin(event, kind);
    this.#last.set(block, event.seq);
    this.#blockOf.set(event.seq, block + 1);
    this.#lines.set(block, Math.min(65_535, this.#lines.get(block) + linesOf(event)));
    if (group?.is === "last") {
      this.#open.delete(group.key);
      this.#mark(block, OPEN, false);
    } else if (group) {
      this.#open.set(group.key, block);
      this.#mark(block, OPEN, true);
    }
    if (event.type === "tool.called" && isQuietTool(event.data.tool)) this.#mark(block, QUIET, true);
    if (isFailure(event)) {
      this.#mark(block, FAILED, true);
      this.#mark(block, QUIET, false);
    }
    this.#notice(event, block);
  }

  #begin(event: RunEvent, kind: Kind): number {
    const block = this.count;
    this.count += 1;
    this.#first.set(block, event.seq);
    this.#kind.set(block, kinds.indexOf(kind));
    this.#turn.set(block, Math.min(65_535, event.turn));
    return block;
  }

  #notice(event: RunEvent, block: number) {
    if (event.type === "message.agent") this.#lastWords = event.data.text;
    if (event.type === "run.succeeded" && event.data.text === this.#lastWords)
      this.#mark(block, SAID_BEFORE, true);
    // Whatever had begun will not be told to its end: who worked on it is gone.
    if (!/^run\.(recovering|succeeded|failed|cancelled|blocked)$/.test(event.type)) return;
    for (const open of this.#open.values()) {
      this.#mark(open, OPEN, false);
      this.#mark(open, LOST, true);
    }
    this.#open.clear();
  }

  #mark(block: number, flag: number, is: boolean) {
    const flags = this.#flags.get(block);
    this.#flags.set(block, is ? flags | flag : flags & ~flag);
  }

  first(block: number): number {
    return this.#first.get(block);
  }

  last(block: number): number {
    return this.#last.get(block);
  }

  /** Another number after every change of the block. */
  stamp(block: number): number {
    return this.last(block) * 32 + this.#flags.get(block);
  }

  kind(block: number): Kind {
    return kinds[this.#kind.get(block)] as Kind;
  }

  turn(block: number): number {
    return this.#turn.get(block);
  }

  lines(block: number): number {
    return this.#lines.get(block);
  }

  isFailed(block: number): boolean {
    return (this.#flags.get(block) & FAILED) !== 0;
  }

  /** It goes on: more of it will be told. */
  isOpen(block: number): boolean {
    return (this.#flags.get(block) & OPEN) !== 0;
  }

  /** Its end was never told. */
  isLost(block: number): boolean {
    return (this.#flags.get(block) & LOST) !== 0;
  }

  isQuiet(block: number): boolean {
    return (this.#flags.get(block) & QUIET) !== 0;
  }

  /** The last words of a run are mostly its last message, which stands right above. */
  isSaidBefore(block: number): boolean {
    return (this.#flags.get(block) & SAID_BEFORE) !== 0;
  }

  /** The numbers of the block's own events. */
  seqs(block: number): number[] {
    const found: number[] = [];
    for (let seq = this.first(block); seq <= this.last(block); seq++) {
      if (this.#blockOf.get(seq) === block + 1) found.push(seq);
    }
    return found;
  }

  /** The block of an event; of one that is not shown, the block before it. */
  at(seq: number): number | undefined {
    for (let near = Math.min(seq, this.#lastSeq); near > 0; near--) {
      const block = this.#blockOf.get(near);
      if (block > 0) return block - 1;
    }
    return this.count > 0 ? 0 : undefined;
  }
}
