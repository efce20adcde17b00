import {
  argumentsOf,
  type Body,
  type Dialect,
  event,
  type Frame,
  list,
  type ParsedMessage,
  parseJson,
  pieces,
  type Reply,
  text,
} from "./dialect.ts";
import { REDACTED, sign } from "./reasoning.ts";

/** Anthropic's Messages API. */
export const anthropic: Dialect = {
  ping: event("ping", {}),
  base: "/v1",
  matches: (path) => path.endsWith("/messages"),
  keyOf: (headers) => text(headers["x-api-key"]) || text(headers.authorization).replace(/^Bearer /, ""),
  read: (body) => ({
    model: text(body.model),
    streams: body.stream === true,
    mayCall: body.tool_choice?.type !== "none",
    tools: list(body.tools).map((tool) => ({ name: text(tool.name), input: tool.input_schema })),
    messages: list(body.messages).flatMap(parseMessage),
  }),
  frames(reply, { id, model }) {
    const frames: Frame[] = [
      { kind: "start", sse: event("message_start", { message: head(reply, id, model) }) },
    ];
    frames.push({ kind: "start", sse: event("ping", {}) });
    blocks(reply).forEach((block, index) => {
      const { kind, start, deltas } = block;
      frames.push({ kind, sse: event("content_block_start", { index, content_block: start }) });
      for (const delta of deltas) frames.push({ kind, sse: event("content_block_delta", { index, delta }) });
      frames.push({ kind, sse: event("content_block_stop", { index }) });
    });
    const delta = { stop_reason: stopReason(reply), stop_sequence: null };
    const usage = { output_tokens: reply.usage.output };
    frames.push({ kind: "end", sse: event("message_delta", { delta, usage }) + event("message_stop", {}) });
    return frames;
  },
  whole: (reply, { id, model }) => ({
    ...head(reply, id, model),
    content: blocks(reply).map(({ whole }) => whole),
    stop_reason: stopReason(reply),
    usage: { ...usageOf(reply), output_tokens: reply.usage.output },
  }),
  error: (status, message) => ({ type: "error", error: { type: errorType(status), message } }),
  errorFrame(message, kind) {
    const type = kind === "overflow" ? "invalid_request_error" : "overloaded_error";
    return { kind: "end", sse: event("error", { error: { type, message } }) };
  },
  overflow: (tokens, limit) => `prompt is too long: ${tokens} tokens > ${limit} maximum`,
};

function parseMessage({ role, content }: Body): ParsedMessage[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : list(content);
  const words = blocks.filter(({ type }) => type === "text").map((block) => text(block.text));
  if (role === "assistant") {
    const calls = blocks.filter(({ type }) => type === "tool_use");
    return [
      { role, text: words.join("\n"), calls: calls.map(({ name, input }) => ({ name: text(name), input })) },
    ];
  }
  const results = blocks.filter(({ type }) => type === "tool_result").map(result);
  const images = blocks.filter(({ type }) => type === "image").length;
  // Anthropic merges consecutive user messages into the blocks of one.
  const said = words.length === 0 && images > 0 ? [""] : words;
  const spoken = said.map((text, index) => ({
    role: "user" as const,
    text,
    images: index === 0 ? images : 0,
  }));
  return [...results, ...spoken];
}

function result({ content }: Body): ParsedMessage {
  if (typeof content === "string") return { role: "result", text: content, images: 0 };
  const parts = list(content);
  const images = parts.filter(({ type }) => type === "image").length;
  return { role: "result", text: parts.map((part) => text(part.text)).join("\n"), images };
}

function blocks({ thinking, text: words, calls }: Reply) {
  const made: { kind: Frame["kind"]; start: object; deltas: object[]; whole: object }[] = [];
  if (thinking === REDACTED) {
    const block = { type: "redacted_thinking", data: sign(REDACTED) };
    made.push({ kind: "thinking", start: block, deltas: [], whole: block });
  } else if (thinking) {
    const signature = sign(thinking);
    made.push({
      kind: "thinking",
      start: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        ...pieces(thinking).map((piece) => ({ type: "thinking_delta", thinking: piece })),
        { type: "signature_delta", signature },
      ],
      whole: { type: "thinking", thinking, signature },
    });
  }
  if (words) {
    made.push({
      kind: "text",
      start: { type: "text", text: "" },
      deltas: pieces(words).map((piece) => ({ type: "text_delta", text: piece })),
      whole: { type: "text", text: words },
    });
  }
  for (const [index, call] of calls.entries()) {
    const tool = { type: "tool_use", id: `toolu_${index + 1}`, name: call.name };
    made.push({
      kind: "arguments",
      start: { ...tool, input: {} },
      deltas: pieces(argumentsOf(call)).map((piece) => ({ type: "input_json_delta", partial_json: piece })),
      whole: { ...tool, input: parseJson(argumentsOf(call)) },
    });
  }
  return made;
}

function head(reply: Reply, id: string, model: string) {
  const usage = { ...usageOf(reply), output_tokens: 1 };
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
}

/** Anthropic counts cache reads and writes separately from other input. */
function usageOf({ usage: { input, cached, written } }: Reply) {
  return {
    input_tokens: input - cached - written,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
  };
}

function stopReason({ finish }: Reply): string {
  const reasons = { stop: "end_turn", calls: "tool_use", length: "max_tokens", refusal: "refusal" };
  return finish === "malformed" ? reasons.calls : reasons[finish];
}

function errorType(status: number): string {
  const types: Record<number, string> = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
  };
  return types[status] ?? "api_error";
}
