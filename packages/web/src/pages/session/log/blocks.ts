import type { RunEvent } from "@outrider/sdk";
import { groupOf, isFailure, isRedundantTool, type Kind, kindOfEvent, kinds } from "./block-kinds.ts";
import { linesOf } from "./event-text.ts";
import { uint8List, uint16List, uint32List } from "./number-list.ts";

const FAILED = 1;
const OPEN = 2;
const REDUNDANT = 4;
const INTERRUPTED = 8;
const REPEATS_LAST_MESSAGE = 16;

/**
 * A compact index of a log's blocks. It uses typed arrays and does not store event content, so that very long logs fit
 * in memory. The content of the few blocks on screen is fetched again when it is needed.
 */
export class Blocks {
  count = 0;
  turns = 1;
  readonly #first = uint32List();
  readonly #last = uint32List();
  readonly #kind = uint8List();
  readonly #flags = uint8List();
  readonly #turn = uint16List();
  readonly #lines = uint16List();
  /** For each event, its block's number plus one, or 0 if the event has no block. */
  readonly #blockOf = uint32List();
  readonly #open = new Map<string, number>();
  #lastMessage = "";
  #lastSeq = 0;

  add(event: RunEvent) {
    this.#lastSeq = event.seq;
    this.turns = Math.max(this.turns, event.turn);
    const kind = kindOfEvent(event);
    if (!kind) return;
    const group = groupOf(event);
    const existing = group && group.is !== "first" ? this.#open.get(group.key) : undefined;
    const block = existing ?? this.#begin(event, kind);
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
    if (event.type === "tool.called" && isRedundantTool(event.data.tool)) this.#mark(block, REDUNDANT, true);
    if (isFailure(event)) {
      this.#mark(block, FAILED, true);
      this.#mark(block, REDUNDANT, false);
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
    if (event.type === "message.agent") this.#lastMessage = event.data.text;
    if (event.type === "run.succeeded" && event.data.text === this.#lastMessage)
      this.#mark(block, REPEATS_LAST_MESSAGE, true);
    // Open commands and tool calls will never finish, because their worker has stopped or the turn is over.
    if (!/^run\.(recovering|succeeded|failed|cancelled|blocked)$/.test(event.type)) return;
    for (const open of this.#open.values()) {
      this.#mark(open, OPEN, false);
      this.#mark(open, INTERRUPTED, true);
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

  /** Returns a number that changes whenever the block changes. */
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

  /** Returns whether more events will be added to this block. */
  isOpen(block: number): boolean {
    return (this.#flags.get(block) & OPEN) !== 0;
  }

  /** Returns whether the block ended without its final event. */
  isInterrupted(block: number): boolean {
    return (this.#flags.get(block) & INTERRUPTED) !== 0;
  }

  isRedundant(block: number): boolean {
    return (this.#flags.get(block) & REDUNDANT) !== 0;
  }

  /** Returns whether the block is a final text that repeats the message right above it. */
  repeatsLastMessage(block: number): boolean {
    return (this.#flags.get(block) & REPEATS_LAST_MESSAGE) !== 0;
  }

  /** Returns the sequence numbers of the block's events. */
  seqs(block: number): number[] {
    const found: number[] = [];
    for (let seq = this.first(block); seq <= this.last(block); seq++) {
      if (this.#blockOf.get(seq) === block + 1) found.push(seq);
    }
    return found;
  }

  /** Returns an event's block, or the block before it if the event is not shown. */
  at(seq: number): number | undefined {
    for (let near = Math.min(seq, this.#lastSeq); near > 0; near--) {
      const block = this.#blockOf.get(near);
      if (block > 0) return block - 1;
    }
    return this.count > 0 ? 0 : undefined;
  }
}
