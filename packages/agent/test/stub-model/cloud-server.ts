import { createVerify, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { crc32 } from "node:zlib";

/**
 * Amazon Bedrock, Google Vertex AI and Azure OpenAI on one port. Each request must have the path, the query and the
 * authentication that the real service requires; otherwise it gets the error of that service. Every answer is "Hello back."
 */

export interface CloudRequest {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface CloudStub {
  origin: string;
  requests: CloudRequest[];
  /** The content of the key file of Vertex AI's service account. */
  serviceAccount: string;
  close(): void;
}

export const bedrock = {
  apiKey: "bedrock-api-key-of-the-stub",
  /** The colon must be encoded in the path. */
  model: "eu.anthropic.claude-sonnet-5-5-v1:0",
};
export const vertex = { project: "acme", location: "europe-west4", model: "gemini-3.8-flash" };
export const azure = { apiKey: "azure-key-of-the-stub", deployment: "my-gpt" };
const CLIENT_EMAIL = "agent@acme.iam.example";
const ACCESS_TOKEN = "access-token-of-the-stub";
const TEXT = "Hello back.";

export async function startCloudStub(): Promise<CloudStub> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", {
    modulusLength: 2_048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const requests: CloudRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { method = "", url = "", headers } = incoming;
    const body = Buffer.concat(chunks).toString();
    const request = { method, url: new URL(url, origin), headers, body };
    requests.push(request);
    const { pathname } = request.url;
    if (pathname === "/token") issueToken(request, response, { publicKey, audience: `${origin}/token` });
    else if (pathname.startsWith("/model/")) answerAsBedrock(request, response);
    else if (pathname.startsWith("/v1beta1/")) answerAsVertex(request, response);
    else if (pathname.startsWith("/openai/")) answerAsAzure(request, response);
    else sendJson(response, 404, { message: "There is no such service." });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const account = { type: "service_account", client_email: CLIENT_EMAIL, private_key: privateKey };
  return {
    origin,
    requests,
    serviceAccount: JSON.stringify({ ...account, token_uri: `${origin}/token` }),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function answerAsBedrock(
  { method, url, headers, body }: CloudRequest,
  response: ServerResponse,
): ServerResponse {
  if (headers.authorization !== `Bearer ${bedrock.apiKey}`)
    return sendJson(response, 403, { message: "Authentication failed: the API key is not valid." });
  const path = `/model/${encodeURIComponent(bedrock.model)}/converse-stream`;
  if (method !== "POST" || url.pathname !== path)
    return sendJson(response, 404, { message: "The provided model identifier is invalid." });
  const [message] = parse(body).messages ?? [];
  if (message?.role !== "user" || typeof message.content?.[0]?.text !== "string")
    return sendJson(response, 400, { message: "The messages are malformed." });
  return response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" }).end(bedrockAnswer);
}

/** Encodes one event of Amazon's binary event stream. */
function encodeEvent(type: string, payload: object): Buffer {
  const header = (name: string, value: string) =>
    Buffer.concat([
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from([7, value.length >> 8, value.length & 255]),
      Buffer.from(value),
    ]);
  const headers = Buffer.concat([header(":event-type", type), header(":message-type", "event")]);
  const body = Buffer.from(JSON.stringify(payload));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(16 + headers.length + body.length, 0);
  lengths.writeUInt32BE(headers.length, 4);
  const checksum = (data: Buffer) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(crc32(data));
    return bytes;
  };
  const unchecked = Buffer.concat([lengths, checksum(lengths), headers, body]);
  return Buffer.concat([unchecked, checksum(unchecked)]);
}

export const bedrockAnswer = Buffer.concat([
  encodeEvent("messageStart", { role: "assistant" }),
  encodeEvent("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Hello " } }),
  encodeEvent("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "back." } }),
  encodeEvent("contentBlockStop", { contentBlockIndex: 0 }),
  encodeEvent("messageStop", { stopReason: "end_turn" }),
  encodeEvent("metadata", {
    usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    metrics: { latencyMs: 1 },
  }),
]);

function issueToken(
  { method, headers, body }: CloudRequest,
  response: ServerResponse,
  { publicKey, audience }: { publicKey: string; audience: string },
): ServerResponse {
  const form = new URLSearchParams(body);
  const isForm =
    method === "POST" &&
    headers["content-type"]?.startsWith("application/x-www-form-urlencoded") &&
    form.get("grant_type") === "urn:ietf:params:oauth:grant-type:jwt-bearer";
  if (!isForm) return sendJson(response, 400, { error: "unsupported_grant_type" });
  const [header = "", claims = "", signature = ""] = (form.get("assertion") ?? "").split(".");
  const isSigned = createVerify("RSA-SHA256")
    .update(`${header}.${claims}`)
    .verify(publicKey, signature, "base64url");
  const { iss, aud, scope, exp, iat } = parse(Buffer.from(claims, "base64url").toString());
  const isScoped = scope === "https://www.googleapis.com/auth/cloud-platform" && exp - iat <= 3_600;
  if (!isSigned || !isScoped || iss !== CLIENT_EMAIL || aud !== audience)
    return sendJson(response, 401, { error: "invalid_grant" });
  return sendJson(response, 200, { access_token: ACCESS_TOKEN, expires_in: 3_600, token_type: "Bearer" });
}

function answerAsVertex(
  { method, url, headers, body }: CloudRequest,
  response: ServerResponse,
): ServerResponse {
  const fail = (status: number, message: string) => sendJson(response, status, { error: { message } });
  if (headers.authorization !== `Bearer ${ACCESS_TOKEN}` || headers["x-goog-api-key"])
    return fail(401, "The request has invalid authentication credentials.");
  const { project, location, model } = vertex;
  const path = `/v1beta1/projects/${project}/locations/${location}/publishers/google/models/${model}:streamGenerateContent`;
  if (method !== "POST" || url.pathname !== path) return fail(404, "The model was not found.");
  // Without this parameter, the real service answers with one JSON array.
  if (url.searchParams.get("alt") !== "sse") return fail(400, "This stub only streams events.");
  if (typeof parse(body).contents?.[0]?.parts?.[0]?.text !== "string")
    return fail(400, "The contents are malformed.");
  const content = { role: "model", parts: [{ text: TEXT }] };
  const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 };
  return sendEvents(response, [{ candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata }]);
}

function answerAsAzure(
  { method, url, headers, body }: CloudRequest,
  response: ServerResponse,
): ServerResponse {
  const fail = (status: number, code: string) =>
    sendJson(response, status, { error: { code, message: `Azure refuses the request: ${code}.` } });
  if (headers["api-key"] !== azure.apiKey || headers.authorization) return fail(401, "401");
  if (method !== "POST") return fail(405, "MethodNotAllowed");
  // The version is part of the path. Dates, which other paths need as a parameter, are refused.
  const version = url.searchParams.get("api-version") ?? "v1";
  if (version !== "v1" && version !== "preview") return fail(400, "UnsupportedApiVersion");
  const { model, stream } = parse(body);
  if (model !== azure.deployment) return fail(404, "DeploymentNotFound");
  if (stream !== true) return fail(400, "NotStreamed");
  if (url.pathname === "/openai/v1/responses") return sendEvents(response, responsesEvents);
  if (url.pathname === "/openai/v1/chat/completions") return sendEvents(response, chatEvents);
  return fail(404, "404");
}

const chunk = (delta: object, finish_reason: string | null, more: object = {}) => ({
  ...{ id: "1", object: "chat.completion.chunk", created: 1, model: azure.deployment },
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
});
const chatEvents = [
  chunk({ role: "assistant", content: TEXT }, null),
  chunk({}, "stop", { usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } }),
  "[DONE]",
];

const answerItem = { type: "message", id: "m1", role: "assistant" };
const responsesEvents = [
  { type: "response.created", response: { id: "r1", created_at: 1, model: azure.deployment } },
  { type: "response.output_item.added", output_index: 0, item: { ...answerItem, content: [] } },
  { type: "response.output_text.delta", item_id: "m1", output_index: 0, content_index: 0, delta: TEXT },
  {
    type: "response.output_item.done",
    output_index: 0,
    item: { ...answerItem, content: [{ type: "output_text", text: TEXT, annotations: [] }] },
  },
  {
    type: "response.completed",
    response: { id: "r1", usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } },
  },
];

function sendEvents(response: ServerResponse, events: (object | string)[]): ServerResponse {
  const lines = events.map((event) => (typeof event === "string" ? event : JSON.stringify(event)));
  return response
    .writeHead(200, { "content-type": "text/event-stream" })
    .end(lines.map((line) => `data: ${line}\n\n`).join(""));
}

function sendJson(response: ServerResponse, status: number, body: object): ServerResponse {
  return response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

// biome-ignore lint/suspicious/noExplicitAny: each service checks the fields that it needs
function parse(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
