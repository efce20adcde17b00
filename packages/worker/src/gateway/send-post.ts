import type { Send } from "@outrider/agent/models/providers/provider-settings";
import type { AssignedModel } from "@outrider/contract/worker";
import { type Dispatcher, request } from "undici";
import { modelDispatcher } from "../egress/model-network.ts";

/** Responses with these statuses have no body. */
const bodyless = [204, 205, 304];

/**
 * Does what `fetch` does for the gateway's requests, in a third of the time: the first byte of a response waits for it.
 * It uses the same dispatcher unless another is given, and with it the company's proxy and certificates. It follows no
 * redirects.
 */
export function createSendPost(dispatcher?: Dispatcher): Send {
  return (url, init) => sendPost(url, init, dispatcher);
}

/** Returns what sends the requests of the agent loop in place of `fetch`, if the addresses of the model are checked. */
export function checkedSend(model: AssignedModel): Send | undefined {
  const dispatcher = modelDispatcher(model);
  if (!dispatcher) return undefined;
  return (url, init) =>
    sendPost(url, { ...init, headers: Object.fromEntries(new Headers(init?.headers)) }, dispatcher);
}

async function sendPost(
  url: Parameters<Send>[0],
  { headers, body, signal }: RequestInit = {},
  dispatcher?: Dispatcher,
): Promise<Response> {
  const answer = await request(String(url), {
    method: "POST",
    headers: headers as Record<string, string>,
    body: body as string,
    signal: signal ?? null,
    ...(dispatcher ? { dispatcher } : {}),
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
}
