import type { IncomingMessage } from "node:http";
import { ByteBuffer } from "@outrider/agent/byte-buffer";
import { findExcess, type JsonLimits } from "@outrider/agent/json-meter";
import { RpcMessage, rpcErrors } from "./rpc-message.ts";

/** The input of a tool can contain a whole file. */
const MAX_BODY_BYTES = 4 * 2 ** 20;
const bodyLimits: JsonLimits = { depth: 64, values: 50_000 };
const BODY_MS = 30_000;

/** A request that the bridge cannot use. */
export class BadRequestError extends Error {
  override name = "BadRequestError";
  readonly status: number;
  readonly code: number;

  constructor(message: string, { status = 400, code = rpcErrors.invalidRequest as number } = {}) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Reads the message in a request. It is measured before it is parsed, because the sender may be hostile. */
export async function readMessage(request: IncomingMessage): Promise<RpcMessage> {
  const body = await readBody(request);
  const excess = findExcess(body, bodyLimits);
  if (excess !== undefined) throw new BadRequestError(`The message ${excess}.`, { status: 413 });
  const value = parse(body);
  const { data } = RpcMessage.safeParse(value);
  if (data) return data;
  throw new BadRequestError(
    Array.isArray(value)
      ? "Batches are not supported. Send one message per request."
      : "The body must be a JSON-RPC 2.0 message.",
  );
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const body = new ByteBuffer();
  const tooLarge = () =>
    new BadRequestError(`The message is larger than ${MAX_BODY_BYTES} bytes.`, { status: 413 });
  if (Number(request.headers["content-length"]) > MAX_BODY_BYTES) throw tooLarge();
  const timer = setTimeout(() => request.destroy(new Error("The request was not sent in time.")), BODY_MS);
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      body.append(chunk);
      if (body.length > MAX_BODY_BYTES) throw tooLarge();
    }
  } finally {
    clearTimeout(timer);
  }
  return body.take();
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new BadRequestError("The body must be JSON.", { code: rpcErrors.parse });
  }
}
