import type { AssignedModel } from "@outrider/contract/worker";
import { MAX_COMPACTIONS, needsCompaction } from "./compaction.ts";
import type { Conversation } from "./conversation.ts";

type Capacity = Pick<AssignedModel, "context_tokens" | "max_output_tokens">;

/** Tracks how much of the model's context the conversation uses. */
export class ContextWindow {
  capacity: Capacity;
  /** The number of compactions since the model last answered. */
  compactions = 0;
  readonly #conversation: Conversation;
  /** The tokens that precede the conversation in every call: instructions and tools. */
  readonly #overhead: number;
  /** The provider's token count for the last call, and our own estimate of the conversation's size at that time. */
  #measured: { tokens: number; conversation: number } | undefined;

  constructor(conversation: Conversation, { capacity, overhead }: { capacity: Capacity; overhead: number }) {
    this.#conversation = conversation;
    this.capacity = capacity;
    this.#overhead = overhead;
  }

  /**
   * The estimated input of the next call: the provider's last count plus our estimate of everything added since then.
   */
  get nextInput(): number {
    const { tokens } = this.#conversation;
    if (this.#measured) return this.#measured.tokens + tokens - this.#measured.conversation;
    return this.#overhead + tokens;
  }

  get needsCompaction(): boolean {
    const request = { requestTokens: this.nextInput, conversationTokens: this.#conversation.tokens };
    return !this.isExhausted && needsCompaction(this.capacity, request);
  }

  /** Whether no further compaction is allowed until the model answers. */
  get isExhausted(): boolean {
    return this.compactions >= MAX_COMPACTIONS;
  }

  /**
   * Records the provider's input token count for a successful call. Zero is ignored, because some providers report it
   * instead of a count.
   */
  recordAnswer(inputTokens: number) {
    this.compactions = 0;
    if (inputTokens > 0) this.#measured = { tokens: inputTokens, conversation: this.#conversation.tokens };
  }

  /** Reduces the capacity after the model rejected a request of this size: its context is smaller than configured. */
  recordOverflow(inputTokens: number) {
    this.capacity = {
      ...this.capacity,
      context_tokens: Math.min(this.capacity.context_tokens, inputTokens),
    };
  }

  recordCompaction() {
    this.compactions += 1;
    this.#measured = undefined;
  }
}
