import type { Send } from "@outrider/agent/models/providers/provider-settings";
import { request } from "undici";

/** Responses with these statuses have no body. */
const bodyless = [204, 205, 304];

/**
 * Does what `fetch` does for the gateway's requests, in a third of the time: the first byte of a response waits for it.
 * It uses the same dispatcher, and with it the company's proxy and certificates. It follows no redirects.
 */
export const sendPost: Send = async (url, { headers, body, signal } = {}) => {
  const answer = await request(String(url), {
    method: "POST",
    headers: headers as Record<string, string>,
    body: body as string,
    signal: signal ?? null,
  });
  const { statusCode: status, body: data } = answer;
  // The reader of the stream gets the error.
  data.on("error", () => {});
  const fields = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value !== undefined) fields.set(name, String(value));
  }
  if (bodyless.includes(status)) {
    data.destroy();
    return new Response(null, { status, headers: fields });
  }
  const chunks = data[Symbol.asyncIterator]();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => void data.destroy(),
    },
    // Chunks are read from the connection only when someone waits for them.
    { highWaterMark: 0 },
  );
  return new Response(stream, { status, headers: fields });
};
