import type { Readable } from "node:stream";
import type { ByteStream, Redactor } from "../redaction/redact.ts";

/**
 * How long the redactor holds back the end of the output, which may be the beginning of a secret. Programs print a secret
 * in one go; a user who types would otherwise not see the last character.
 */
const HOLD_MS = 25;

interface RedactedOutputOptions {
  source: Readable;
  redactor: Redactor;
  send(bytes: Buffer): void;
  /** Resolves when more output may be sent. */
  room(): Promise<void>;
}

/** Sends a program's output, redacted, until it ends. */
export async function sendRedacted({ source, redactor, send, room }: RedactedOutputOptions): Promise<void> {
  let stream: ByteStream | undefined;
  let timer: NodeJS.Timeout | undefined;
  const sendSome = (bytes: Buffer) => {
    // The redactor may reuse its memory.
    if (bytes.length > 0) send(Buffer.from(bytes));
  };
  const flush = () => {
    clearTimeout(timer);
    if (stream) sendSome(stream.end());
    stream = undefined;
  };
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      clearTimeout(timer);
      stream ??= redactor.byteStream();
      sendSome(stream.push(chunk));
      timer = setTimeout(flush, HOLD_MS);
      await room();
    }
  } finally {
    flush();
  }
}
