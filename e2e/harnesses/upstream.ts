import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { WireFormat } from "@outrider/contract/harness";
import { answerScripted } from "@outrider/worker/gateway/scripted/answer-scripted";

/** The providers of `models.json`, one for each wire format. */
const providers: Record<WireFormat, { name: string; base: string; settings: object; model?: string }> = {
  "anthropic-messages": { name: "anthropic", base: "/v1", settings: {} },
  "openai-responses": { name: "openai", base: "/v1", settings: {} },
  "openai-chat": { name: "house", base: "/v1", settings: { type: "openai-compatible" } },
  // Gemini CLI asks for the successor of this model.
  gemini: { name: "google", base: "/v1beta", settings: {}, model: "gemini-3.5-flash" },
};

/** The size of an agent's own instructions must not matter to tests. */
const prices = { input_usd_per_mtok: 0.01, output_usd_per_mtok: 2_500 };

/**
 * Starts a model provider that requires a key, has prices, and executes the script in the prompt. The scripted model has
 * neither a key nor prices.
 */
export async function startUpstream(format: WireFormat, key: string) {
  const { name, base, settings, model = "priced-stub" } = providers[format];
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    if (!sentKey(request).includes(key)) {
      response.writeHead(401).end();
      return;
    }
    if (request.method !== "POST") {
      response.writeHead(404).end();
      return;
    }
    const closed = new AbortController();
    response.on("close", () => closed.abort());
    try {
      const body = await json(request);
      requests.push(JSON.stringify(body));
      const path = request.url ?? "";
      const answer = await answerScripted(format, { path, body }, { signal: closed.signal });
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
  const models = { [model]: { prices } };
  return {
    modelId: `${name}/${model}`,
    /** The content of `models.json`. */
    models: {
      default_model_id: "scripted",
      providers: {
        [name]: { ...settings, base_url: `http://127.0.0.1:${port}${base}`, api_key: key, models },
      },
    },
    /** The bodies of the calls with the right key. */
    requests,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function sentKey({ headers }: IncomingMessage): string {
  return [headers["x-api-key"], headers.authorization, headers["x-goog-api-key"]].join(" ");
}
