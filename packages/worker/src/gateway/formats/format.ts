import type { PartialUsage } from "@outrider/agent/models/partial-usage";
import type { WireFormat } from "@outrider/contract/harness";

/** A parsed JSON object from outside. Its fields can have any value. */
export type Json = Record<string, unknown>;

/** What the gateway knows about one wire format. Requests and responses pass through in it. */
export interface Format {
  name: WireFormat;
  /** The path of a call below the provider's base URL. `model` is the provider's name for the model. */
  pathOf(model: string, options: { streams: boolean }): string;
  /** The path that counts the tokens of a request, if the format has one. */
  countPathOf?(model: string): string;
  /** The response to a count that the gateway estimates itself. */
  countResponse?(tokens: number): object;
  /** Returns why the gateway cannot pass a request on, if so. */
  findUnsupported?(body: Json): string | undefined;
  maxOutputTokens(body: Json): number | undefined;
  /** Limits the answer's length. Called only if the request asks for a longer one. */
  limitOutput(body: Json, maxTokens: number): void;
  hasTools(body: Json): boolean;
  /** Makes the model answer without calling tools. */
  forbidTools(body: Json): void;
  /**
   * Removes what the provider would do on its own, such as a web search or a stored conversation. It would bypass the
   * sandbox's network policy or the run's budget.
   */
  dropHostedFeatures(body: Json): void;
  /** Reads the token counts of a response, or of one event of a streamed response. */
  readUsage(event: Json, usage: PartialUsage): void;
  /** Returns whether an event contains the final token counts. */
  isFinal(event: Json): boolean;
  /** Returns the number of characters that an event adds to the answer. */
  charactersOf(event: Json): number;
  errorBody(status: number, message: string): object;
}

export function asObject(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function lengthOf(value: unknown): number {
  return typeof value === "string" ? value.length : 0;
}

export function asCount(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? value : undefined;
}

/**
 * Keeps the tools that the agent runs itself. If it required one of the others, the model may choose.
 */
export function keepTools(body: Json, isKept: (tool: Json) => boolean): void {
  if (!Array.isArray(body.tools)) return;
  const kept = body.tools.filter((tool) => isKept(asObject(tool)));
  if (kept.length === body.tools.length) return;
  body.tools = kept;
  const isForced = typeof body.tool_choice === "object" || body.tool_choice === "required";
  if (kept.length === 0) delete body.tools;
  if (kept.length === 0 || isForced) delete body.tool_choice;
}
