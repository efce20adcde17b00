/** A request, independent of the API. */
export interface ParsedRequest {
  model: string;
  streams: boolean;
  mayCall: boolean;
  tools: ParsedTool[];
  messages: ParsedMessage[];
}

export interface ParsedTool {
  name: string;
  /** The JSON schema of its input. */
  input: unknown;
}

export type ParsedMessage =
  | { role: "user"; text: string; images: number }
  | { role: "assistant"; text: string; calls: ParsedCall[] }
  | { role: "result"; text: string; images: number };

export interface ParsedCall {
  name: string;
  input: unknown;
}

export interface Usage {
  /** All input tokens, including cached ones. */
  input: number;
  cached: number;
  written: number;
  output: number;
  reasoning: number;
}

export interface Reply {
  thinking: string;
  text: string;
  /** A string is sent verbatim as the arguments, whether or not it is JSON. */
  calls: { name: string; input: object | string }[];
  finish: "stop" | "calls" | "length" | "refusal" | "malformed";
  usage: Usage;
}

/** One write to the stream and the kind of its content. */
export interface Frame {
  kind: "start" | "thinking" | "text" | "arguments" | "end";
  sse: string;
}

export type ErrorKind = "status" | "overflow" | "unauthorized" | "unknown_model";

export interface Dialect {
  /** The path that clients append to the server's URL. */
  base: string;
  matches(path: string): boolean;
  keyOf(headers: Record<string, string | string[] | undefined>): string | undefined;
  read(body: Body, path: string): ParsedRequest;
  frames(reply: Reply, context: ReplyContext): Frame[];
  whole(reply: Reply, context: ReplyContext): object;
  error(status: number, message: string, kind: ErrorKind): object;
  /** An error inside a stream that started normally. */
  errorFrame(message: string, kind: ErrorKind): Frame;
  overflow(tokens: number, limit: number): string;
  /** A keep-alive message. */
  ping: string;
}

export interface ReplyContext {
  id: string;
  model: string;
  body: Body;
}

/** Any JSON value; readers ignore what they do not expect and never throw. */
// biome-ignore lint/suspicious/noExplicitAny: a request may contain anything
export type Body = any;

const PIECE = 16;

export function pieces(text: string): string[] {
  return text.match(new RegExp(`[^]{1,${PIECE}}`, "g")) ?? [];
}

export function argumentsOf({ input }: Reply["calls"][number]): string {
  return typeof input === "string" ? input : JSON.stringify(input);
}

export function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;
}

export function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

export function list(value: unknown): Body[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "object" && item !== null) : [];
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function parseJson(json: unknown): unknown {
  try {
    return JSON.parse(text(json));
  } catch {
    return json;
  }
}
