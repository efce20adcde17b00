import { type AgentCall, restrictBody } from "./answer-call.ts";
import { estimateInput } from "./estimate-input.ts";
import { asObject } from "./formats/format.ts";

/** Providers that count tokens for free. */
const countingProviders = ["anthropic", "google", "google-vertex", "scripted"];
const MAX_BYTES = 64 * 1024;

/** Counts the tokens of a request. The provider counts them, if it can; otherwise they are estimated. */
export async function answerCount(call: Omit<AgentCall, "streams" | "writeMs">): Promise<void> {
  const { model, source, format, body, headers, requestPath, response, signal } = call;
  const path = format.countPathOf?.(model.name);
  if (!path || !countingProviders.includes(model.provider)) {
    const tokens = estimateInput(body, JSON.stringify(body));
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(format.countResponse?.(tokens) ?? { tokens }));
    return;
  }
  restrictBody(call);
  if ("model" in body) body.model = model.name;
  if (body.generateContentRequest) {
    body.generateContentRequest = { ...asObject(body.generateContentRequest), model: `models/${model.name}` };
  }
  const onRetry = async () => {};
  const json = JSON.stringify(body);
  const answer = await source.call({ format, path, requestPath, headers, body, json, signal, onRetry });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) break;
    chunks.push(chunk);
  }
  response.writeHead(answer.status, answer.headers).end(Buffer.concat(chunks));
}
