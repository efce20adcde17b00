import {
  type Body,
  type Dialect,
  data,
  type Frame,
  list,
  type ParsedMessage,
  pieces,
  type Reply,
  type ReplyContext,
  text,
} from "./dialect.ts";
import { sign } from "./reasoning.ts";

/** Google's generateContent. */
export const gemini: Dialect = {
  ping: ": keep-alive\n\n",
  base: "/v1beta",
  matches: (path) => /:(streamGenerateContent|generateContent)$/.test(path),
  keyOf: (headers) => text(headers["x-goog-api-key"]),
  read: (body, path) => ({
    model: /models\/([^/]+):/.exec(path)?.[1] ?? "",
    streams: path.endsWith(":streamGenerateContent"),
    mayCall: body.toolConfig?.functionCallingConfig?.mode !== "NONE",
    tools: list(body.tools).flatMap((tool) =>
      list(tool.functionDeclarations).map(({ name, parameters, parametersJsonSchema }) => ({
        name: text(name),
        input: parameters ?? parametersJsonSchema,
      })),
    ),
    messages: list(body.contents).flatMap(parseMessage),
  }),
  frames(reply, context) {
    const frames: Frame[] = [];
    const add = (kind: Frame["kind"], part: object) =>
      frames.push({ kind, sse: data(chunk(context, { parts: [part] })) });
    for (const piece of pieces(reply.thinking)) add("thinking", { text: piece, thought: true });
    for (const piece of pieces(reply.finish === "refusal" ? "" : reply.text)) add("text", { text: piece });
    for (const part of callParts(reply)) add("arguments", part);
    frames.push({ kind: "end", sse: data(last(reply, context, [])) });
    return frames;
  },
  whole(reply, context) {
    const said = reply.text && reply.finish !== "refusal" ? [{ text: reply.text }] : [];
    const thought = reply.thinking ? [{ text: reply.thinking, thought: true }] : [];
    return last(reply, context, [...thought, ...said, ...callParts(reply)]);
  },
  error: (status, message) => ({ error: { code: status, message, status: statusName(status) } }),
  errorFrame: (message, kind) => ({
    kind: "end",
    sse: data(gemini.error(kind === "overflow" ? 400 : 503, message, kind)),
  }),
  overflow: (tokens, limit) =>
    `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${limit}).`,
};

function parseMessage({ role, parts }: Body): ParsedMessage[] {
  const all = list(parts);
  const words = all.filter(({ thought }) => !thought).map((part) => text(part.text));
  const said = words.filter((word) => word !== "").join("\n");
  const called = all.filter(({ functionCall }) => functionCall);
  if (role === "model") {
    const calls = called.map(({ functionCall }) => ({
      name: text(functionCall.name),
      input: functionCall.args,
    }));
    return [{ role: "assistant", text: said, calls }];
  }
  const images = all.filter(({ inlineData }) => inlineData).length;
  const answers = all.filter(({ functionResponse }) => functionResponse);
  if (answers.length === 0) return [{ role: "user", text: said, images }];
  // Older models take the images of results beside these.
  return answers.map((part, index) => result(part, index === answers.length - 1 ? images : 0));
}

function result({ functionResponse: { response, parts } }: Body, beside: number): ParsedMessage {
  const { content, error } = response ?? {};
  const said = content ?? error ?? response;
  return {
    role: "result",
    text: typeof said === "string" ? said : JSON.stringify(said),
    images: list(parts).length + beside,
  };
}

/** A call comes whole: here only the connection can cut its arguments. Of several calls, only the first is signed. */
function callParts({ calls, finish }: Reply): object[] {
  if (finish === "malformed") return [];
  const whole = finish === "length" ? calls.slice(0, -1) : calls;
  return whole.map(({ name, input }, index) => ({
    functionCall: { name, args: input },
    ...(index === 0 ? { thoughtSignature: sign(name) } : {}),
  }));
}

function chunk({ id, model }: ReplyContext, { parts, ...rest }: { parts: object[]; finishReason?: string }) {
  const candidates = [{ content: { parts, role: "model" }, index: 0, ...rest }];
  return { candidates, modelVersion: model, responseId: id };
}

function last(reply: Reply, context: ReplyContext, parts: object[]) {
  const { input, cached, output, reasoning } = reply.usage;
  return {
    ...chunk(context, { parts, finishReason: finishReason(reply) }),
    usageMetadata: {
      promptTokenCount: input,
      cachedContentTokenCount: cached,
      candidatesTokenCount: output - reasoning,
      thoughtsTokenCount: reasoning,
      totalTokenCount: input + output,
    },
  };
}

function finishReason({ finish }: Reply): string {
  const reasons = { stop: "STOP", calls: "STOP", length: "MAX_TOKENS", refusal: "SAFETY" };
  return finish === "malformed" ? "MALFORMED_FUNCTION_CALL" : reasons[finish];
}

function statusName(status: number): string {
  const names: Record<number, string> = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
  };
  return names[status] ?? "INTERNAL";
}
