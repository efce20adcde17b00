import {
  argumentsOf,
  type Body,
  type Dialect,
  data,
  type Frame,
  list,
  type ParsedMessage,
  parseJson,
  pieces,
  type Reply,
  type ReplyContext,
  text,
} from "./dialect.ts";

/** OpenAI's Chat Completions API, with reasoning as compatible providers send it. */
export const chat: Dialect = {
  ping: ": keep-alive\n\n",
  base: "/v1",
  matches: (path) => path.endsWith("/chat/completions"),
  keyOf: (headers) => text(headers.authorization).replace(/^Bearer /, ""),
  read: (body) => ({
    model: text(body.model),
    streams: body.stream === true,
    mayCall: body.tool_choice !== "none",
    tools: list(body.tools).map((tool) => ({
      name: text(tool.function?.name),
      input: tool.function?.parameters,
    })),
    messages: list(body.messages).flatMap(parseMessage),
  }),
  frames(reply, context) {
    const frames: Frame[] = [];
    const add = (kind: Frame["kind"], delta: object) =>
      frames.push({ kind, sse: data(chunk(context, [{ index: 0, delta, finish_reason: null }])) });
    add("start", { role: "assistant", content: "" });
    for (const piece of pieces(reply.thinking)) add("thinking", { reasoning_content: piece });
    const said = reply.finish === "refusal" ? "refusal" : "content";
    for (const piece of pieces(reply.text)) add("text", { [said]: piece });
    for (const [index, call] of reply.calls.entries()) {
      const { id, type, function: named } = callOf(call, index, "");
      add("arguments", { tool_calls: [{ index, id, type, function: named }] });
      for (const piece of pieces(argumentsOf(call)))
        add("arguments", { tool_calls: [{ index, function: { arguments: piece } }] });
    }
    const end = data(chunk(context, [{ index: 0, delta: {}, finish_reason: finishReason(reply) }]));
    const wantsUsage = context.body.stream_options?.include_usage === true;
    const usage = wantsUsage ? data({ ...chunk(context, []), usage: usageOf(reply) }) : "";
    frames.push({ kind: "end", sse: `${end}${usage}data: [DONE]\n\n` });
    return frames;
  },
  whole(reply, { id, model }) {
    const isRefused = reply.finish === "refusal";
    const message = {
      role: "assistant",
      content: isRefused ? null : reply.text || null,
      refusal: isRefused ? reply.text : null,
      ...(reply.thinking ? { reasoning_content: reply.thinking } : {}),
      ...(reply.calls.length > 0
        ? { tool_calls: reply.calls.map((call, index) => callOf(call, index, argumentsOf(call))) }
        : {}),
    };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: finishReason(reply) }];
    return {
      id: `chatcmpl-${id}`,
      object: "chat.completion",
      created,
      model,
      choices,
      usage: usageOf(reply),
    };
  },
  error: openaiError,
  errorFrame: (message, kind) => ({ kind: "end", sse: data(openaiError(500, message, kind)) }),
  overflow: (tokens, limit) =>
    `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
};

export const created = 1_790_000_000;

export function openaiError(status: number, message: string, kind: string): object {
  const codes: Record<string, string> = {
    overflow: "context_length_exceeded",
    unauthorized: "invalid_api_key",
    unknown_model: "model_not_found",
  };
  const type = status === 429 ? "rate_limit_error" : status < 500 ? "invalid_request_error" : "server_error";
  return { error: { message, type, param: null, code: codes[kind] ?? null } };
}

function parseMessage({ role, content, tool_calls }: Body): ParsedMessage[] {
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : list(content);
  const words = parts.map((part) => text(part.text)).join("\n");
  const images = parts.filter(({ type }) => type === "image_url").length;
  if (role === "user") return [{ role, text: words, images }];
  if (role === "tool") return [{ role: "result", text: words, images }];
  if (role !== "assistant") return [];
  const calls = list(tool_calls).map(({ function: called }) => ({
    name: text(called?.name),
    input: parseJson(called?.arguments),
  }));
  return [{ role, text: words, calls }];
}

function chunk({ id, model }: ReplyContext, choices: object[]) {
  return { id: `chatcmpl-${id}`, object: "chat.completion.chunk", created, model, choices };
}

function callOf({ name }: Reply["calls"][number], index: number, args: string) {
  return { id: `call_${index + 1}`, type: "function", function: { name, arguments: args } };
}

function usageOf({ usage: { input, cached, output, reasoning } }: Reply) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

/** A refusal has its own text field; the response ends normally. */
function finishReason({ finish }: Reply): string {
  return { stop: "stop", calls: "tool_calls", malformed: "tool_calls", length: "length", refusal: "stop" }[
    finish
  ];
}
