import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { zeroUsage } from "../../packages/contract/src/run.ts";
import { ModelGateway } from "../../packages/worker/src/gateway/model-gateway.ts";
import { TurnMeter } from "../../packages/worker/src/gateway/turn-meter.ts";
import { Redactor } from "../../packages/worker/src/redaction/redact.ts";
import { answerParent } from "../support/child-process.ts";

/** Serves a gateway to the provider with this base URL and returns its port. Its calls cost something and are reserved. */
answerParent(async (base_url: string) => {
  const { signal } = new AbortController();
  const prices = { input_usd_per_mtok: 1, output_usd_per_mtok: 1 };
  const api_key = "sk-of-the-benchmark-0123456789";
  const redactor = new Redactor([api_key]);
  const gateway = new ModelGateway({
    models: [
      {
        names: ["stub"],
        model: {
          ...{ model_id: "stub", name: "stub", provider: "openai-compatible", base_url, api_key, prices },
          ...{ context_tokens: 1_000_000, supports_images: false },
        },
      },
    ],
    redact: (text) => redactor.redact(text),
    signal,
  });
  gateway.meter = new TurnMeter({
    input: { history: [], limits: { max_steps: 1e9, max_cost_usd: 1e9 }, usage: zeroUsage },
    io: {
      emit: async (event) => event,
      budget: { reserve: async () => ({ settle: () => {} }) },
      timeIsUp: signal,
      signal,
    },
    onLimit: (code) => {
      throw new Error(`The benchmark reached a limit: ${code}.`);
    },
  });
  const server = createServer({ noDelay: true }, (connection) => gateway.accept(connection));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
});
