/**
 * Limits the size and structure of a provider's streamed response before the AI SDK reads it.
 *
 * The SDK collects an event until it is complete, parses it and validates it, all without limits. An endless line would
 * exhaust the memory, and an event with a million items would block every run on the worker. The limits are far above
 * what providers send: the largest events repeat the request's tools or the complete answer.
 */
import { Failure } from "../../failure.ts";
import { JsonMeter } from "../../json-meter.ts";
import { checkedResponse } from "./checked-response.ts";

const MAX_RESPONSE_BYTES = 256 * 2 ** 20;
const MAX_EVENT_BYTES = 16 * 2 ** 20;
/** The SDK's validator takes about a second to reject an event with this many invalid items. */
const eventLimits = { depth: 100, values: 30_000 };
const [LINE_FEED, CARRIAGE_RETURN] = [10, 13];

/** Returns the response with a body that fails when it exceeds a limit. */
export function boundResponse(response: Response): Response {
  const meter = new ResponseMeter();
  return checkedResponse(response, (chunk) => {
    meter.push(chunk);
    return meter.excess === undefined ? undefined : responseLimitError(meter.excess);
  });
}

/** Ends the turn, because another attempt would receive the same response. */
export function responseLimitError(excess: string): Failure {
  return new Failure("model_error", `The model provider sent a response that ${excess}.`);
}

/**
 * Measures a text/event-stream: each event, and all of them together. As in the standard, a line ends with LF, CR, or
 * CR LF.
 */
class ResponseMeter {
  readonly #json = new JsonMeter(eventLimits);
  #totalBytes = 0;
  #eventBytes = 0;
  #isLineEmpty = true;
  #isAfterCarriageReturn = false;
  excess: string | undefined;

  push(chunk: Uint8Array) {
    this.#totalBytes += chunk.length;
    if (this.#totalBytes > MAX_RESPONSE_BYTES) this.excess ??= `is larger than ${MAX_RESPONSE_BYTES} bytes`;
    let from = this.#isAfterCarriageReturn && chunk[0] === LINE_FEED ? 1 : 0;
    if (chunk.length > 0) this.#isAfterCarriageReturn = chunk.at(-1) === CARRIAGE_RETURN;
    while (from < chunk.length && this.excess === undefined) {
      const end = findLineEnd(chunk, from);
      if (end > from) this.#addText(chunk, from, end);
      if (end === chunk.length) return;
      this.#endLine();
      from = end + (chunk[end] === CARRIAGE_RETURN && chunk[end + 1] === LINE_FEED ? 2 : 1);
    }
  }

  #addText(chunk: Uint8Array, from: number, end: number) {
    this.#isLineEmpty = false;
    this.#eventBytes += end - from;
    this.#json.push(chunk, from, end);
    if (this.#json.excess) this.excess ??= `has an event that ${this.#json.excess}`;
    if (this.#eventBytes > MAX_EVENT_BYTES)
      this.excess ??= `has an event of more than ${MAX_EVENT_BYTES} bytes`;
  }

  /** An empty line ends an event. */
  #endLine() {
    if (this.#isLineEmpty) {
      this.#json.reset();
      this.#eventBytes = 0;
    } else {
      this.#json.endLine();
    }
    this.#isLineEmpty = true;
  }
}

/** Returns the position of the next line feed or carriage return, or that of the end. */
function findLineEnd(chunk: Uint8Array, from: number): number {
  let at = from;
  while (at < chunk.length && chunk[at] !== LINE_FEED && chunk[at] !== CARRIAGE_RETURN) at += 1;
  return at;
}
