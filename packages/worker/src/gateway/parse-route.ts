import type { Format } from "./formats/format.ts";
import { formats } from "./formats/formats.ts";

/** What a request to the gateway asks for. */
export type Route =
  /** A model call. In some formats, the path contains the model's name and whether the response is streamed. */
  | { type: "call"; format: Format; model?: string; streams?: boolean }
  | { type: "count"; format: Format; model?: string }
  /** A list of models, or one of them. */
  | { type: "models"; style: "openai" | "gemini"; model?: string }
  /** Agents check with `HEAD /` whether the server is up. */
  | { type: "health" };

const posts: Record<string, Route> = {
  "/v1/messages": { type: "call", format: formats["anthropic-messages"] },
  "/v1/messages/count_tokens": { type: "count", format: formats["anthropic-messages"] },
  "/v1/chat/completions": { type: "call", format: formats["openai-chat"] },
  "/v1/responses": { type: "call", format: formats["openai-responses"] },
};

/** Returns undefined if the gateway has no such route. */
export function parseRoute(method: string, path: string): Route | undefined {
  if (method === "GET" || method === "HEAD") return parseGet(path);
  if (method !== "POST") return undefined;
  if (Object.hasOwn(posts, path)) return posts[path];
  const [, name, action] = /^\/v1(?:beta)?\/models\/([^:]+):([A-Za-z]+)$/.exec(path) ?? [];
  const model = decode(name);
  if (model === undefined) return undefined;
  const format = formats.gemini;
  if (action === "generateContent") return { type: "call", format, model, streams: false };
  if (action === "streamGenerateContent") return { type: "call", format, model, streams: true };
  return action === "countTokens" ? { type: "count", format, model } : undefined;
}

function parseGet(path: string): Route | undefined {
  if (path === "/") return { type: "health" };
  const [, version, name] = /^\/(v1|v1beta)\/models(?:\/(.+))?$/.exec(path) ?? [];
  if (version === undefined) return undefined;
  const model = decode(name);
  return {
    type: "models",
    style: version === "v1" ? "openai" : "gemini",
    ...(model === undefined ? {} : { model }),
  };
}

function decode(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
