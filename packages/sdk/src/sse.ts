import { after } from "./retry.ts";

export interface Message {
  id?: string;
  event?: string;
  data: string;
}

/** Parses server-sent events. Skips comments and drops an incomplete message at the end. */
export async function* readMessages(
  body: ReadableStream<Uint8Array>,
  { idle, signal }: { idle: number; signal: AbortSignal },
): AsyncGenerator<Message> {
  const reader = body.getReader();
  const stop = () => reader.cancel().catch(() => {});
  signal.addEventListener("abort", stop);
  const decoder = new TextDecoder();
  let buffer = "";
  try {
    for (;;) {
      const { done, value } = await withTimeout(idle, reader.read());
      if (done) return;
      buffer += decoder.decode(value, { stream: true });
      // A final carriage return may be the first half of a line break.
      const blocks = buffer.split(/\r\n\r\n|\n\n|\r\r(?!$)/);
      buffer = blocks.pop() as string;
      for (const block of blocks) {
        const message = parse(block);
        if (message) yield message;
      }
    }
  } finally {
    signal.removeEventListener("abort", stop);
    await stop();
  }
}

function parse(block: string): Message | undefined {
  const message: Message = { data: "" };
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "data") data.push(value);
    if (field === "id" || field === "event") message[field] = value;
  }
  return data.length > 0 ? { ...message, data: data.join("\n") } : undefined;
}

/** Rejects after a timeout. The server sends keep-alive comments, so silence means a dead connection. */
function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = after(ms, () => reject(new Error(`No data for ${ms} ms.`)));
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
