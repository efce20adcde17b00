import type { IncomingMessage } from "node:http";
import { JsonMeter } from "@outrider/agent/json-meter";
import { asObject, type Json } from "./formats/format.ts";
import { RequestError } from "./request-error.ts";

export interface BodyLimits {
  bytes: number;
  depth: number;
  values: number;
  /** How long the body may take to arrive. */
  ms: number;
}

/**
 * Reads a request's body. It is measured while it arrives, because parsing it builds every value before anyone can
 * count them. `reserve` is called before memory is used and throws if there is not enough.
 */
export async function readJson(
  request: IncomingMessage,
  { limits, reserve }: { limits: BodyLimits; reserve(bytes: number): void },
): Promise<Json> {
  if (Number(request.headers["content-length"] ?? 0) > limits.bytes) throw tooLarge(limits);
  const meter = new JsonMeter(limits);
  const chunks: Buffer[] = [];
  let bytes = 0;
  const timer = setTimeout(() => request.destroy(), limits.ms);
  try {
    // The connection stays open after an error, so that the client can read the reason.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > limits.bytes) throw tooLarge(limits);
      reserve(chunk.length);
      meter.push(chunk);
      if (meter.excess) throw new RequestError(400, `The request's JSON ${meter.excess}.`);
      chunks.push(chunk);
    }
  } finally {
    clearTimeout(timer);
  }
  return parse(Buffer.concat(chunks).toString());
}

function tooLarge({ bytes }: BodyLimits): RequestError {
  return new RequestError(413, `Requests to the model gateway are limited to ${bytes} bytes.`);
}

function parse(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return asObject(value);
  } catch {}
  throw new RequestError(400, "The request's body must be a JSON object.");
}
