/**
 * Records how a model's response is sent back to the model, so that the model keeps its own reasoning.
 *
 * Providers sign or encrypt reasoning and reject a conversation in which it is missing, moved or changed. Anthropic
 * signs thinking blocks, OpenAI's Responses API returns encrypted reasoning items, and Gemini adds signatures to
 * thoughts, texts and tool calls. Some compatible servers require the `reasoning_content` of earlier tool calls.
 *
 * A replay lists the parts of a response in their order. It contains the provider's values but no text: texts are in
 * the run's events, and a part refers to a range of them. Each part is recorded only if its provider can use it.
 */
import {
  MAX_METADATA_CHARACTERS,
  MAX_PRIVATE_CHARACTERS,
  type Replay,
  type ReplayMetadata,
  type ReplayPart,
} from "@outrider/contract/private-data";
import type { ProviderModel, StreamPart } from "./provider.ts";

type ProviderMetadata = Extract<StreamPart, { type: "text-start" }>["providerMetadata"];

/** The only values that are kept, by provider. Providers send more, which nobody has to send back. */
const keptNames: Record<string, readonly string[]> = {
  anthropic: ["signature", "redactedData"],
  openai: ["itemId", "reasoningEncryptedContent", "phase"],
  google: ["thoughtSignature"],
  amazonBedrock: ["signature", "redactedData"],
  azure: ["itemId", "reasoningEncryptedContent", "phase"],
  googleVertex: ["thoughtSignature"],
};

/** A reasoning part is sent back only if it has one of these values. Without it, its provider would reject the part. */
const requiredNames = ["signature", "redactedData", "reasoningEncryptedContent", "thoughtSignature"];

/** The name under which the compatible provider reports that the server sends `reasoning_content`. */
export const COMPATIBLE = "compatible";
export const REASONING_CONTENT = "reasoningContent";

/** Identifies a model together with its provider's API. */
export function replayKey({ provider, modelId }: Pick<ProviderModel, "provider" | "modelId">): string {
  return `${provider} ${modelId}`.slice(0, 512);
}

interface OpenPart {
  id: string;
  part: ReplayPart;
}

/** Collects the parts of a response while it is read. */
export class ReplayRecorder {
  readonly #model: string;
  readonly #parts: OpenPart[] = [];
  #hasReasoningContent = false;
  #isUnusable = false;

  constructor(model: Pick<ProviderModel, "provider" | "modelId">) {
    this.#model = replayKey(model);
  }

  /** Opens a text or reasoning part at an offset of the response's text or reasoning. */
  begin(type: "text" | "reasoning", id: string, at: number, metadata: ProviderMetadata) {
    this.#parts.push({ id, part: { type, start: at, end: at } });
    this.annotate(id, metadata);
  }

  /** Extends the part to an offset. Only the latest part can grow, because a range must not contain other parts. */
  extend(type: "text" | "reasoning", id: string, at: number, metadata: ProviderMetadata) {
    const last = this.#parts.findLast(({ part }) => part.type === type);
    if (last?.id !== id || last.part.type === "call") this.#isUnusable = true;
    else last.part.end = at;
    this.annotate(id, metadata);
  }

  /** Adds what a provider says about a part, which may be at its beginning, at its end or in between. */
  annotate(id: string, metadata: ProviderMetadata) {
    const found = this.#parts.findLast((open) => open.id === id);
    if (found) this.#addMetadata(found.part, metadata);
  }

  addCall(tool: string, metadata: ProviderMetadata) {
    const part: ReplayPart = { type: "call", tool: tool.slice(0, 256) };
    this.#addMetadata(part, metadata);
    this.#parts.push({ id: "", part });
  }

  /** Removes the last call, because the response was cut off before its end. */
  dropLastCall() {
    const index = this.#parts.findLastIndex(({ part }) => part.type === "call");
    if (index >= 0) this.#parts.splice(index, 1);
  }

  /** Reads what a provider says about the whole response. */
  finish(metadata: ProviderMetadata) {
    this.#hasReasoningContent = metadata?.[COMPATIBLE]?.[REASONING_CONTENT] === true;
  }

  /** Returns the replay, or undefined if the provider needs nothing but the texts and the calls. */
  get replay(): Replay | undefined {
    if (this.#isUnusable) return undefined;
    const all = this.#parts.map(({ part }) => part);
    const parts = withoutRepeatedContent(
      all.filter(
        ({ type, metadata }) => type !== "reasoning" || this.#hasReasoningContent || isSigned(metadata),
      ),
    );
    const isUseful = parts.some(({ type, metadata }) => type === "reasoning" || metadata !== undefined);
    const replay = { model: this.#model, parts };
    return isUseful && parts.length <= 1_000 && isSmall(replay) ? replay : undefined;
  }

  #addMetadata(part: ReplayPart, metadata: ProviderMetadata) {
    for (const [provider, names] of Object.entries(keptNames)) {
      for (const name of names) {
        const value = metadata?.[provider]?.[name];
        if (typeof value !== "string" || value === "") continue;
        // A part without its signature is useless, and so is a signature without its end.
        if (value.length > MAX_METADATA_CHARACTERS) this.#isUnusable = true;
        else part.metadata = withValue(part.metadata, { provider, name, value });
      }
    }
  }
}

/**
 * Returns the replay that matches the reasoning as it is stored. Reasoning that was changed, because it contained a
 * secret, no longer matches its signature, so no signed reasoning is sent back. Unsigned reasoning is sent as stored.
 */
export function matchStoredReasoning(
  replay: Replay | undefined,
  { original, stored }: { original: string; stored: string },
): Replay | undefined {
  if (!replay || original === stored) return replay;
  const isUnsigned = replay.parts.some(
    ({ type, metadata }) => type === "reasoning" && metadata === undefined,
  );
  const others = replay.parts.filter(({ type }) => type !== "reasoning");
  const whole: ReplayPart[] = isUnsigned ? [{ type: "reasoning", start: 0, end: stored.length }] : [];
  return { ...replay, parts: [...whole, ...others] };
}

function isSigned(metadata: ReplayMetadata | undefined): boolean {
  const values = Object.values(metadata ?? {});
  return values.some((named) => requiredNames.some((name) => Object.hasOwn(named, name)));
}

/**
 * OpenAI sends one reasoning item as several parts, each with the complete encrypted content. The last one is enough.
 */
function withoutRepeatedContent(parts: readonly ReplayPart[]): ReplayPart[] {
  return parts.map((part, index) => {
    const openai = part.metadata?.openai;
    const next = parts[index + 1]?.metadata?.openai;
    if (part.type !== "reasoning" || !openai?.itemId || next?.itemId !== openai.itemId) return part;
    return { ...part, metadata: { openai: { itemId: openai.itemId } } };
  });
}

function withValue(
  metadata: ReplayMetadata | undefined,
  { provider, name, value }: { provider: string; name: string; value: string },
): ReplayMetadata {
  return { ...metadata, [provider]: { ...metadata?.[provider], [name]: value } };
}

function isSmall(replay: Replay): boolean {
  return JSON.stringify({ replay }).length <= MAX_PRIVATE_CHARACTERS;
}
