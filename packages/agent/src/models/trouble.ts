import {
  APICallError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  JSONParseError,
  StreamProviderError,
  TypeValidationError,
} from "ai";
import { Failure, messageOf } from "../failure.ts";
import { retryAfter } from "./retry-after.ts";

/** What is to be done about a model call that failed. */
export type Trouble =
  | { type: "retry"; reason: string; isRateLimit: boolean; afterMs?: number | undefined }
  | { type: "overflow"; reason: string }
  | { type: "fatal"; failure: Failure };

/** The most that is told of a provider's own words. */
const REASON_CHARACTERS = 500;

/** How providers say that the conversation is too long for the model. */
const overflowWords = [
  "prompt is too long",
  "exceed context limit",
  "context_length_exceeded",
  "maximum context length",
  "exceeds the context window",
  "exceeds the maximum number of tokens",
  "longer than the maximum model length",
  "exceeds the available context size",
  "exceed_context_size",
  "exceeded max context length",
  "exceeds the context length",
  "greater than the context length",
  "context size has been exceeded",
  "maximum prompt length",
  "input is too long",
  "reduce the length of the messages",
  "request_too_large",
];

const badKeyWords = ["api key not valid", "api_key_invalid", "invalid api key", "incorrect api key"];

/** An answer that did not come whole. */
export class BrokenAnswer extends Error {}

/** Some stand between us and the provider's error; what they hold of it is the same. */
interface Said {
  message: string;
  status: number | undefined;
  /** All that it says, in lower case, to look for words in. */
  words: string;
  /** The provider's names for it. */
  kind: string;
  afterMs: number | undefined;
}

export function troubleOf(error: unknown, model: string): Trouble {
  if (error instanceof Failure) return { type: "fatal", failure: error };
  if (isBroken(error)) return retry(`the answer was not whole: ${cut(messageOf(error))}`);
  const said = whatIsSaid(error);
  if (!said) return fatal(new Failure("model_error", cut(messageOf(error)) || "The model call failed."));
  const { status, words } = said;
  if (status !== 429 && overflowWords.some((each) => words.includes(each))) {
    return { type: "overflow", reason: said.message };
  }
  if (status === 413) return { type: "overflow", reason: said.message };
  return (
    refusal(said, model) ??
    passing(said) ??
    fatal(new Failure("model_error", `The model's provider answered: ${wordsOf(said)}`))
  );
}

/** Trouble that stays until somebody changes something. */
function refusal({ status, words, kind, message }: Said, model: string): Trouble | undefined {
  if (status === 401 || status === 403 || badKeyWords.some((each) => words.includes(each))) {
    const text = `The provider of ${model} does not accept the key that Outrider has for it${status ? ` (${status})` : ""}. The operator sets api_key for this provider in Outrider's configuration of models.`;
    return fatal(new Failure("model_not_available", text));
  }
  if (status === 404 || kind.includes("not_found")) {
    const text = `The provider does not know ${model}: ${message} Choose one from GET /agent/models, or see that the name and base_url in Outrider's configuration of models are right.`;
    return fatal(new Failure("model_not_available", text));
  }
  if (kind.includes("insufficient_quota")) {
    return fatal(
      new Failure(
        "model_rate_limited",
        `The account with the model's provider has no quota left: ${message}`,
      ),
    );
  }
  return undefined;
}

/** Trouble that may be gone in a moment. */
function passing(said: Said): Trouble | undefined {
  const { status, kind, afterMs } = said;
  const isRateLimit = status === 429 || kind.includes("rate_limit") || kind.includes("resource_exhausted");
  const isForUs = kind.includes("invalid_request") || kind.includes("invalid_argument");
  const mayPass =
    status === undefined || status < 300 ? !isForUs : status >= 500 || [408, 409, 425].includes(status);
  if (!isRateLimit && !mayPass) return undefined;
  return { type: "retry", reason: wordsOf(said), isRateLimit, afterMs };
}

function isBroken(error: unknown): boolean {
  return (
    error instanceof BrokenAnswer ||
    JSONParseError.isInstance(error) ||
    TypeValidationError.isInstance(error) ||
    InvalidResponseDataError.isInstance(error) ||
    EmptyResponseBodyError.isInstance(error) ||
    // What the AI SDK says where the first thing that Anthropic sends cannot be read.
    messageOf(error).startsWith("Expected a normalized")
  );
}

/** Undefined where no provider said it: a mistake of ours, or of the AI SDK's. */
function whatIsSaid(error: unknown): Said | undefined {
  if (APICallError.isInstance(error)) {
    const { statusCode: status, responseBody = "", responseHeaders = {}, message } = error;
    const words = `${message} ${responseBody}`.toLowerCase();
    const kind = kindOf(error.data) || kindOf(parsed(responseBody));
    return {
      status,
      words,
      kind,
      message: cut(message || responseBody),
      afterMs: retryAfter(responseHeaders, responseBody),
    };
  }
  if (error instanceof Error && !StreamProviderError.isInstance(error)) return undefined;
  // An error in the middle of a stream is whatever the provider sent.
  const { message, statusCode, data } = (typeof error === "object" && error !== null ? error : {}) as {
    message?: unknown;
    statusCode?: unknown;
    data?: unknown;
  };
  const text =
    typeof message === "string" ? message : typeof error === "string" ? error : JSON.stringify(error);
  const kind = `${kindOf(error)} ${kindOf(data)}`;
  return {
    message: cut(text ?? "an error without words"),
    status: typeof statusCode === "number" ? statusCode : undefined,
    words: `${text} ${kind}`.toLowerCase(),
    kind,
    afterMs: undefined,
  };
}

function kindOf(data: unknown): string {
  const found = data as
    | { error?: unknown; type?: unknown; code?: unknown; status?: unknown }
    | null
    | undefined;
  if (typeof found !== "object" || found === null) return "";
  const inner = typeof found.error === "object" && found.error !== null ? kindOf(found.error) : "";
  return [inner, found.type, found.code, found.status]
    .filter((name) => typeof name === "string")
    .join(" ")
    .toLowerCase();
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function wordsOf({ status, message }: Said): string {
  return status === undefined || status < 300 ? message : `${status} ${message}`.trim();
}

function retry(reason: string): Trouble {
  return { type: "retry", reason, isRateLimit: false };
}

function fatal(failure: Failure): Trouble {
  return { type: "fatal", failure };
}

function cut(text: string): string {
  return text.length <= REASON_CHARACTERS ? text : `${text.slice(0, REASON_CHARACTERS)}…`;
}
