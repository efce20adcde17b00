/** What a request says, whichever API it came by. */
export interface Heard {
  model: string;
  streams: boolean;
  mayCall: boolean;
  tools: HeardTool[];
  messages: HeardMessage[];
}

export interface HeardTool {
  name: string;
  /** Its JSON schema. */
  input: unknown;
}

export type HeardMessage =
  | { role: "user"; text: string; images: number }
  | { role: "assistant"; text: string; calls: HeardCall[] }
  | { role: "result"; text: string; images: number };

export interface HeardCall {
  name: string;
  input: unknown;
}

export interface Usage {
  /** All of the input, the cached part included. */
  input: number;
  cached: number;
  written: number;
  output: number;
  reasoning: number;
}

export interface Reply {
  thinking: string;
  text: string;
  /** Arguments as a string are sent as they stand, JSON or not. */
  calls: { name: string; input: object | string }[];
  finish: "stop" | "calls" | "length" | "refusal" | "malformed";
  usage: Usage;
}

/** One write to the stream, and what it carries. */
export interface Frame {
  kind: "start" | "thinking" | "text" | "arguments" | "end";
  sse: string;
}

export type ErrorKind = "status" | "overflow" | "unauthorized" | "unknown_model";

export interface Dialect {
  /** The path that clients put behind the server's address. */
  base: string;
  /** Undefined where the path is not one of this dialect's. */
  matches(path: string): boolean;
  keyOf(headers: Record<string, string | string[] | undefined>): string | undefined;
  read(body: Body, path: string): Heard;
  frames(reply: Reply, context: ReplyContext): Frame[];
  whole(reply: Reply, context: ReplyContext): object;
  error(status: number, message: string, kind: ErrorKind): object;
  /** The error as a part of a stream that began well. */
  errorFrame(message: string, kind: ErrorKind): Frame;
  overflow(tokens: number, limit: number): string;
  /** What it sends only to show that it is there. */
  ping: string;
}

export interface ReplyContext {
  id: string;
  model: string;
  body: Body;
}

/** Anything that JSON can be: the reader takes what it finds and never throws. */
// biome-ignore lint/suspicious/noExplicitAny: a request may hold anything
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
  return Array.isArray(value) ? value.filter((one) => typeof one === "object" && one !== null) : [];
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function parsed(json: unknown): unknown {
  try {
    return JSON.parse(text(json));
  } catch {
    return json;
  }
}
