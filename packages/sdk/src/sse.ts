import { after } from "./retry.ts";

export interface Message {
  id?: string;
  event?: string;
  data: string;
}

/** Reads a body of server-sent events. Comments are left out; what a cut left incomplete is not told. */
export async function* readMessages(
  body: ReadableStream<Uint8Array>,
  { idle, signal }: { idle: number; signal: AbortSignal },
): AsyncGenerator<Message> {
  const reader = body.getReader();
  const stop = () => reader.cancel().catch(() => {});
  signal.addEventListener("abort", stop);
  const decoder = new TextDecoder();
  let kept = "";
  try {
    for (;;) {
      const { done, value } = await within(idle, reader.read());
      if (done) return;
      kept += decoder.decode(value, { stream: true });
      // A carriage return at the end may be half of a line's end.
      const blocks = kept.split(/\r\n\r\n|\n\n|\r\r(?!$)/);
      kept = blocks.pop() as string;
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

/** A connection can die without a word; the service says at least that it is still there. */
function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = after(ms, () => reject(new Error(`Nothing was heard for ${ms} ms.`)));
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
