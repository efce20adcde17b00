import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { answerScripted } from "@outrider/worker/gateway/scripted/answer-scripted";

const prices = { input_usd_per_mtok: 1, output_usd_per_mtok: 1_000 };

export type ReviewedModel = Awaited<ReturnType<typeof startReviewedModel>>;

/**
 * Starts a model provider that requires a key and has prices. It executes the script in the prompt like the scripted
 * model, and also script lines in quoted comments, so that reviewers can tell it what to do.
 */
export async function startReviewedModel() {
  const key = `sk-of-the-provider-${Math.random().toString(36).slice(2)}0123456789`;
  const server = createServer(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${key}` || request.method !== "POST")
      return void response.writeHead(401).end();
    const closed = new AbortController();
    response.on("close", () => closed.abort());
    try {
      const body = JSON.parse(JSON.stringify(await json(request)).replaceAll(/\\n> (?=[A-Z]+: )/g, "\\n"));
      const path = request.url ?? "";
      const answer = await answerScripted("openai-chat", { path, body }, { signal: closed.signal });
      response.writeHead(answer.status, answer.headers);
      for await (const text of answer.body) response.write(text);
      response.end();
    } catch {
      response.destroy();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    key,
    /** The content of `models.json`. */
    models: {
      default_model_id: "house/reviewed",
      providers: {
        house: {
          type: "openai-compatible",
          base_url: `http://127.0.0.1:${port}/v1`,
          api_key: key,
          models: { reviewed: { prices } },
        },
      },
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
