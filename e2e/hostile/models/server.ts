import { listen, sendParts } from "../http-server.ts";
import { answers } from "./answers.ts";

/** Starts an OpenAI-compatible model provider. The name of the model selects the answer. */
export function startModelProvider(): Promise<number> {
  return listen(({ body }, reply) => {
    const { model, messages } = JSON.parse(body);
    const answer = answers[model]?.answer;
    if (!answer) return reply.writeHead(404).end();
    reply.writeHead(200, { "content-type": "text/event-stream" });
    const hasResult = messages.some(({ role }: { role: string }) => role === "tool");
    sendParts(reply, answer(hasResult));
  });
}
