import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { argumentsOf, type Dialect, type Frame, type ParsedRequest, type Reply } from "./dialect.ts";
import { breakAt, type StubFault } from "./faults.ts";

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** Injects a fault that replaces the whole response. Returns whether it did. */
export function earlyFault(
  fault: StubFault,
  {
    dialect,
    response,
    tokens,
    parsed,
  }: { dialect: Dialect; parsed: ParsedRequest; response: ServerResponse; tokens: number },
): boolean {
  if (fault.type === "status") {
    const { status, message = `The stub returned ${status}.`, retryAfter, retryAfterMs } = fault;
    const headers = {
      ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
      ...(retryAfterMs === undefined ? {} : { "retry-after-ms": String(retryAfterMs) }),
    };
    sendJson(response, status, dialect.error(status, message, "status"), headers);
    return true;
  }
  if (fault.type === "overflow" && !(fault.inStream && parsed.streams)) {
    sendJson(response, 400, dialect.error(400, dialect.overflow(tokens, tokens - 1), "overflow"));
    return true;
  }
  if (fault.type === "garbage") {
    response.writeHead(200, { "content-type": parsed.streams ? "text/event-stream" : "application/json" });
    response.end('data: {"this is": no answer\n\n<html>');
    return true;
  }
  if (fault.type === "cut" && fault.where === "headers") {
    response.destroy();
    return true;
  }
  return fault.type === "silence" && fault.where === "headers";
}

export function applyFault(reply: Reply, fault: StubFault | undefined): Reply {
  switch (fault?.type) {
    case "refusal":
      return { ...reply, text: fault.message ?? "I cannot help with that.", calls: [], finish: "refusal" };
    case "length":
      return { ...cut(reply, fault.keep), finish: "length" };
    case "empty":
      return { ...reply, text: "", calls: [], finish: "stop" };
    case "think_tags": {
      const close = fault.isUnclosed ? "" : "</think>\n\n";
      return { ...reply, thinking: "", text: `<think>\n${reply.thinking}${close}${reply.text}` };
    }
    case "malformed":
      return {
        ...reply,
        calls: reply.calls.map(({ name }) => ({ name, input: '{"path": "a' })),
        finish: "malformed",
      };
    case "wrong_arguments":
      return { ...reply, calls: reply.calls.map(({ name }) => ({ name, input: { wrong: true } })) };
    default:
      return reply;
  }
}

function cut(reply: Reply, keep: number | undefined): Reply {
  const last = reply.calls.at(-1);
  if (keep === undefined) return reply;
  if (!last) return { ...reply, text: reply.text.slice(0, keep) };
  return {
    ...reply,
    calls: [...reply.calls.slice(0, -1), { ...last, input: argumentsOf(last).slice(0, keep) }],
  };
}

export const blockedPrompt: Frame = {
  kind: "end",
  sse: `data: ${JSON.stringify({ promptFeedback: { blockReason: "SAFETY" } })}\n\n`,
};

export async function send(
  response: ServerResponse,
  frames: Frame[],
  { fault, dialect, tokens }: { fault: StubFault | undefined; dialect: Dialect; tokens: number },
) {
  const where = fault && "where" in fault && fault.where !== "headers" ? fault.where : undefined;
  const end = where
    ? breakAt(frames, where)
    : fault?.type === "overflow"
      ? Math.min(1, frames.length - 1)
      : undefined;
  for (const { sse } of frames.slice(0, end)) {
    if (response.destroyed) return;
    response.write(sse);
    if (fault?.type === "slow") await sleep(fault.ms);
  }
  if (end === undefined || !fault) return response.end();
  switch (fault.type) {
    case "cut":
      await new Promise((resolve) => response.write(frames[end]?.sse.slice(0, -12) ?? "", resolve));
      return response.destroy();
    case "error":
      return response.end(dialect.errorFrame(fault.message ?? "Overloaded", "status").sse);
    case "overflow":
      return response.end(dialect.errorFrame(dialect.overflow(tokens, tokens - 1), "overflow").sse);
    case "end":
      return response.end();
    case "pause":
      for (let waited = 0; waited < fault.ms; waited += fault.pingMs) {
        response.write(dialect.ping);
        await sleep(fault.pingMs);
      }
      return response.end(
        frames
          .slice(end)
          .map(({ sse }) => sse)
          .join(""),
      );
  }
}
