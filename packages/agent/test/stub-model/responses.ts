import { created, openaiError } from "./chat.ts";
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
  type ReplyContext,
  text,
} from "./dialect.ts";
import { sign } from "./reasoning.ts";

/** OpenAI's Responses. */
export const responses: Dialect = {
  ping: ": keep-alive\n\n",
  base: "/v1",
  matches: (path) => path.endsWith("/responses"),
  keyOf: (headers) => text(headers.authorization).replace(/^Bearer /, ""),
  read: (body) => ({
    model: text(body.model),
    streams: body.stream === true,
    mayCall: body.tool_choice !== "none",
    tools: list(body.tools).map((tool) => ({ name: text(tool.name), input: tool.parameters })),
    messages: typeof body.input === "string" ? [spoken(body.input)] : list(body.input).flatMap(parseMessage),
  }),
  frames(reply, context) {
    const frames: Frame[] = [];
    const add = (kind: Frame["kind"], name: string, rest: object) =>
      frames.push({ kind, sse: event(name, { sequence_number: frames.length, ...rest }) });
    const begun = response(reply, context, "in_progress");
    add("start", "response.created", { response: begun });
    add("start", "response.in_progress", { response: begun });
    for (const [output_index, { kind, item, bare, parts }] of items(reply, context).entries()) {
      add(kind, "response.output_item.added", { output_index, item: bare });
      for (const { name, ...rest } of parts) add(kind, name, { output_index, item_id: item.id, ...rest });
      add(kind, "response.output_item.done", { output_index, item });
    }
    const isCut = reply.finish === "length";
    const ended = response(reply, context, isCut ? "incomplete" : "completed");
    add("end", `response.${ended.status}`, { response: ended });
    return frames;
  },
  whole: (reply, context) => response(reply, context, reply.finish === "length" ? "incomplete" : "completed"),
  error: openaiError,
  errorFrame(message, kind) {
    const code = kind === "overflow" ? "context_length_exceeded" : "server_error";
    return { kind: "end", sse: event("error", { sequence_number: 99, code, message, param: null }) };
  },
  overflow: () =>
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
};

function spoken(words: string): ParsedMessage {
  return { role: "user", text: words, images: 0 };
}

function parseMessage({ type, role, content, name, arguments: args, output }: Body): ParsedMessage[] {
  if (type === "function_call") {
    return [{ role: "assistant", text: "", calls: [{ name: text(name), input: parseJson(args) }] }];
  }
  if (type === "function_call_output") return [{ role: "result", ...contentOf(output) }];
  if (role === "user") return [{ role, ...contentOf(content) }];
  return role === "assistant" ? [{ role, text: contentOf(content).text, calls: [] }] : [];
}

function contentOf(content: unknown) {
  if (typeof content === "string") return { text: content, images: 0 };
  const parts = list(content);
  const images = parts.filter(({ type }) => type === "input_image").length;
  return { text: parts.map((part) => text(part.text)).join("\n"), images };
}

interface Item {
  kind: Frame["kind"];
  item: Record<string, unknown> & { id: string };
  /** The item as it is announced. */
  bare: object;
  parts: { name: string; [member: string]: unknown }[];
}

function items(reply: Reply, context: ReplyContext): Item[] {
  return [
    ...(reply.thinking ? [reasoning(reply.thinking, context)] : []),
    ...(reply.text ? [message(reply)] : []),
    ...reply.calls.map(call),
  ];
}

/** The encrypted content is sent only on request. */
function reasoning(thinking: string, { id: number, body }: ReplyContext): Item {
  const id = `rs_${number}`;
  const isIncluded = Array.isArray(body.include) && body.include.includes("reasoning.encrypted_content");
  const item = { type: "reasoning", id, encrypted_content: isIncluded ? sign(id, thinking) : null };
  const part = (words: string) => ({ type: "summary_text", text: words });
  const name = "response.reasoning_summary";
  return {
    kind: "thinking",
    bare: { ...item, summary: [] },
    item: { ...item, summary: [part(thinking)] },
    parts: [
      { name: `${name}_part.added`, summary_index: 0, part: part("") },
      ...pieces(thinking).map((delta) => ({ name: `${name}_text.delta`, summary_index: 0, delta })),
      { name: `${name}_text.done`, summary_index: 0, text: thinking },
      { name: `${name}_part.done`, summary_index: 0, part: part(thinking) },
    ],
  };
}

function message({ text: words, finish }: Reply): Item {
  const isRefused = finish === "refusal";
  const item = { type: "message", id: "msg_1", role: "assistant", status: "completed" };
  const part = (said: string) =>
    isRefused
      ? { type: "refusal", refusal: said }
      : { type: "output_text", text: said, annotations: [], logprobs: [] };
  const name = isRefused ? "response.refusal" : "response.output_text";
  return {
    kind: "text",
    bare: { ...item, status: "in_progress", content: [] },
    item: { ...item, content: [part(words)] },
    parts: [
      { name: "response.content_part.added", content_index: 0, part: part("") },
      ...pieces(words).map((delta) => ({ name: `${name}.delta`, content_index: 0, delta })),
      { name: `${name}.done`, content_index: 0, [isRefused ? "refusal" : "text"]: words },
      { name: "response.content_part.done", content_index: 0, part: part(words) },
    ],
  };
}

function call(called: Reply["calls"][number], index: number): Item {
  const args = argumentsOf(called);
  const item = {
    type: "function_call",
    id: `fc_${index + 1}`,
    call_id: `call_${index + 1}`,
    name: called.name,
    arguments: args,
    status: "completed",
  };
  const name = "response.function_call_arguments";
  return {
    kind: "arguments",
    bare: { ...item, arguments: "", status: "in_progress" },
    item,
    parts: [
      ...pieces(args).map((delta) => ({ name: `${name}.delta`, delta })),
      { name: `${name}.done`, arguments: args },
    ],
  };
}

function response(reply: Reply, context: ReplyContext, status: string) {
  const { id, model } = context;
  const { input, cached, output, reasoning: thought } = reply.usage;
  const isOver = status !== "in_progress";
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: created,
    status,
    error: null,
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    model,
    output: isOver ? items(reply, context).map(({ item }) => item) : [],
    usage: isOver
      ? {
          input_tokens: input,
          input_tokens_details: { cached_tokens: cached },
          output_tokens: output,
          output_tokens_details: { reasoning_tokens: thought },
          total_tokens: input + output,
        }
      : null,
  };
}
