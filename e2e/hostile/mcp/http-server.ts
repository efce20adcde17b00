import { listen, sendParts } from "../http-server.ts";
import { answerTo } from "./answer-to.ts";

/** Starts an MCP server over HTTP. The path names the form of its answers and the attack: `/json/NAME` or `/sse/NAME`. */
export function startMcpServer(): Promise<number> {
  return listen(({ url, body }, reply) => {
    const [, form, name = ""] = url.split("/").map(decodeURIComponent);
    const { id, method } = body === "" ? {} : JSON.parse(body);
    if (id === undefined || method === undefined) return reply.writeHead(body === "" ? 405 : 202).end();
    const parts = answerTo(name, method)?.(id) ?? [];
    const isStream = form === "sse";
    reply.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    sendParts(reply, isStream ? asEvent(parts) : parts);
  });
}

/** Sends each line of an answer as one event. */
function* asEvent(parts: Iterable<string>): Iterable<string> {
  yield "data: ";
  for (const part of parts) yield part.replaceAll("\n", "\n\ndata: ");
  yield "\n\n";
}
