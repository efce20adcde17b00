import type { ProviderModel, StreamPart } from "../provider.ts";
import { COMPATIBLE } from "../replay.ts";

const OPEN = "<think>";
const CLOSE = "</think>";
const TEXT_ID = "text-after-thinking";
const REASONING_ID = "think-tags";

/** Whether the model's responses may contain tags. Other providers send reasoning separately. */
export function maySendThinkTags({ provider }: Pick<ProviderModel, "provider">): boolean {
  return provider.startsWith(`${COMPATIBLE}.`);
}

/**
 * Turns `<think>…</think>` at the start of a response into reasoning. Many servers for open models send the model's
 * reasoning this way. Without the closing tag, the rest of the response is reasoning. Later tags are text, because a
 * model may write about them.
 *
 * Tags can be split across parts, so text is held back while it may be the beginning of a tag.
 */
export class ThinkTagExtractor {
  #state: "start" | "thinking" | "text" | "unchanged" = "start";
  #held = "";
  #hasThinking = false;
  /** The parts of the text block that has not produced any text yet. */
  #opening: StreamPart[] = [];

  /** Returns the parts that replace the next part of the response. */
  push(part: StreamPart): StreamPart[] {
    if (this.#state === "unchanged") return [part];
    switch (part.type) {
      case "text-start":
        this.#opening.push(part);
        return [];
      case "text-delta":
        this.#held += part.delta;
        return this.#read(part);
      case "text-end":
        return this.#state === "start" ? [...this.#end(), part] : this.#end();
      case "reasoning-start":
      case "tool-input-start":
      case "tool-call":
      case "finish":
        // A server that separates reasoning itself sends no tags.
        return [...this.#end(), part];
      default:
        return [part];
    }
  }

  #read(part: Extract<StreamPart, { type: "text-delta" }>): StreamPart[] {
    if (this.#state === "start") {
      const text = this.#held.trimStart();
      if (text.length < OPEN.length && OPEN.startsWith(text)) return [];
      if (!text.startsWith(OPEN)) return this.#passThrough(part);
      this.#state = "thinking";
      this.#held = text.slice(OPEN.length);
      return [{ type: "reasoning-start", id: REASONING_ID }, ...this.#readThinking()];
    }
    return this.#state === "thinking" ? this.#readThinking() : this.#readText();
  }

  /** The response does not start with a tag, so all of it is passed on as it is. */
  #passThrough(part: Extract<StreamPart, { type: "text-delta" }>): StreamPart[] {
    const parts: StreamPart[] = [...this.#opening, { ...part, delta: this.#held }];
    this.#state = "unchanged";
    this.#opening = [];
    this.#held = "";
    return parts;
  }

  #readThinking(): StreamPart[] {
    const close = this.#held.indexOf(CLOSE);
    if (close < 0) {
      const safe = this.#held.length - partialTagLength(this.#held);
      return this.#takeThinking(safe);
    }
    const parts = this.#takeThinking(close);
    this.#held = this.#held.slice(CLOSE.length);
    this.#state = "text";
    return [...parts, { type: "reasoning-end", id: REASONING_ID }, ...this.#readText()];
  }

  #takeThinking(length: number): StreamPart[] {
    const taken = this.#held.slice(0, length);
    const delta = this.#hasThinking ? taken : taken.trimStart();
    this.#held = this.#held.slice(length);
    this.#hasThinking ||= delta !== "";
    return delta === "" ? [] : [{ type: "reasoning-delta", id: REASONING_ID, delta }];
  }

  /** The answer starts after the empty lines that follow the tag. */
  #readText(): StreamPart[] {
    const isStarting = this.#opening.length > 0;
    const delta = isStarting ? this.#held.trimStart() : this.#held;
    this.#held = "";
    if (delta === "") return [];
    this.#opening = [];
    const start: StreamPart[] = isStarting ? [{ type: "text-start", id: TEXT_ID }] : [];
    return [...start, { type: "text-delta", id: TEXT_ID, delta }];
  }

  /** Ends the text block. Nothing that was held back is lost. */
  #end(): StreamPart[] {
    const held = this.#held;
    const state = this.#state;
    const opening = this.#opening;
    this.#state = "unchanged";
    this.#held = "";
    this.#opening = [];
    if (state === "thinking") {
      const rest: StreamPart[] =
        held === "" ? [] : [{ type: "reasoning-delta", id: REASONING_ID, delta: held }];
      return [...rest, { type: "reasoning-end", id: REASONING_ID }];
    }
    if (state === "text") return opening.length > 0 ? [] : [{ type: "text-end", id: TEXT_ID }];
    const id = opening.find(({ type }) => type === "text-start");
    if (!id || !("id" in id)) return [];
    return held === "" ? opening : [...opening, { type: "text-delta", id: id.id as string, delta: held }];
  }
}

/** Returns the length of the longest end of the text that may be the beginning of the closing tag. */
function partialTagLength(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length -= 1) {
    if (CLOSE.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
