import type { ModelWork } from "@outrider/contract/worker";
import { isFull, MAX_SQUEEZES } from "./compaction.ts";
import type { Conversation } from "./conversation.ts";

type Capacity = Pick<ModelWork, "context_tokens" | "max_output_tokens">;

/** How much of the model's context the conversation takes. */
export class ContextWindow {
  capacity: Capacity;
  /** How often it was made shorter since the model last answered. */
  squeezes = 0;
  private readonly conversation: Conversation;
  /** What stands before the conversation in every call. */
  private readonly overhead: number;
  /** What the provider counted at the last call, and how long the conversation was by our own measure. */
  private measured: { tokens: number; conversation: number } | undefined;

  constructor(conversation: Conversation, { capacity, overhead }: { capacity: Capacity; overhead: number }) {
    this.conversation = conversation;
    this.capacity = capacity;
    this.overhead = overhead;
  }

  /** About how many tokens the next call reads: what the provider counted last, and what came since by our own measure. */
  get nextInput(): number {
    const { tokens } = this.conversation;
    if (this.measured) return this.measured.tokens + tokens - this.measured.conversation;
    return this.overhead + tokens;
  }

  get isTight(): boolean {
    const { tokens } = this.conversation;
    return !this.isExhausted && isFull(this.capacity, { request: this.nextInput, conversation: tokens });
  }

  /** It cannot be made shorter again before the model has answered. */
  get isExhausted(): boolean {
    return this.squeezes >= MAX_SQUEEZES;
  }

  /** The model has read so many tokens, as its provider counts; some count nothing. */
  answered(tokens: number) {
    this.squeezes = 0;
    if (tokens > 0) this.measured = { tokens, conversation: this.conversation.tokens };
  }

  /** A call that read so much was too long. Whatever we were told, the context is smaller than this. */
  overflowed(input: number) {
    this.capacity = { ...this.capacity, context_tokens: Math.min(this.capacity.context_tokens, input) };
  }

  /** The conversation was made shorter. */
  squeezed() {
    this.squeezes += 1;
    this.measured = undefined;
  }
}
