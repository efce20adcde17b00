import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type RecordedRequest,
  type StubModel,
  type StubOptions,
  startStubModel,
} from "../../../agent/test/stub-model/server.ts";
import { type Event, startTestInstallation } from "../installation.ts";
import { mounts } from "../mcp/mcp-support.ts";
import { makeFolder, Origin, serveSsh } from "../repositories/git-server.ts";

export const modelKey = "sk-of-the-agents-model-0123456789";

const prices = { input_usd_per_mtok: 10, output_usd_per_mtok: 50 };

/** One model for each provider API. */
export const modelIds = {
  anthropic: "anthropic/claude-stub",
  responses: "openai/gpt-5-stub",
  chat: "gateway/gpt-stub",
  gemini: "google/gemini-2.5-stub",
  compatible: "house/qwen-stub",
};

function modelsFile(stub: StubModel): object {
  const api_key = modelKey;
  const priced = { prices, supports_images: true };
  return {
    default_model_id: "usual",
    aliases: { usual: modelIds.anthropic, other: "anthropic/other-stub" },
    providers: {
      anthropic: {
        base_url: stub.baseUrl("anthropic"),
        api_key,
        models: { "claude-stub": priced, "other-stub": priced },
      },
      openai: { base_url: stub.baseUrl("responses"), api_key },
      gateway: { type: "openai", api: "chat", base_url: stub.baseUrl("chat"), api_key },
      google: { base_url: stub.baseUrl("gemini"), api_key },
      house: { type: "openai-compatible", base_url: stub.baseUrl("chat"), api_key },
    },
  };
}

export type AgentInstallation = Awaited<ReturnType<typeof startAgentInstallation>>;

/** The real service with stub models, and a real git server over ssh for environments. */
export async function startAgentInstallation({
  settings = {},
  stub: stubOptions = {},
}: {
  settings?: Record<string, string>;
  stub?: StubOptions;
} = {}) {
  const temporary = makeFolder();
  const ssh = await serveSsh(temporary.folder);
  const stub = await startStubModel({ apiKey: modelKey, ...stubOptions });
  const models = join(temporary.folder, "models.json");
  writeFileSync(models, JSON.stringify(modelsFile(stub)));
  const installation = await startTestInstallation({ OUTRIDER_MODELS: models, ...settings });
  const stored = await installation.call("PUT", "/agent/secrets/GIT_KEY", { body: { value: ssh.key } });
  if (stored.status >= 300) throw new Error(stored.text);
  mkdirSync(join(temporary.folder, "acme"));

  return {
    ...installation,
    stub,
    gitKey: ssh.key,
    /** The address that a worker must be allowed to reach for repositories. */
    gitAddress: `127.0.0.1:${ssh.port}`,
    /** Starts a worker in this process. Its sandboxes have Node, and it may reach git and these loopback ports. */
    agentWorker: (...ports: number[]) =>
      installation.worker({
        mounts,
        allowedAddresses: [ssh.port, ...ports].map((port) => `127.0.0.1:${port}`).join(),
      }),

    /** Creates a repository `acme/NAME` with these files on the branch main. */
    repository(name: string, files: Record<string, string>): Origin & { url: string } {
      const origin = new Origin(join(temporary.folder, "acme"), name);
      origin.push("main", files);
      return Object.assign(origin, { url: `ssh://${ssh.user}@127.0.0.1:${ssh.port}${origin.bare}` });
    },

    async environment(origin: { url: string }, body: object = {}): Promise<string> {
      const repos = [{ url: origin.url, secret: "GIT_KEY" }];
      const name = `env of ${origin.url} ${Math.random()}`.slice(-120);
      const created = await installation.call("POST", "/agent/environments", {
        body: { name, repos, ...body },
      });
      if (created.status !== 201) throw new Error(created.text);
      return created.body.environment_id;
    },

    /** Starts a run and returns a function that lists its model requests so far. */
    async begin(script: string[], body: object = {}) {
      const job = `Job ${randomUUID()}.`;
      const run = await installation.create([job, ...script], body);
      const requests = () => stub.requests.filter((request) => spokenIn(request)[0]?.startsWith(job));
      return { run, requests };
    },

    diff: async (run: string): Promise<string> =>
      (await installation.call("GET", `/agent/runs/${run}/diff`)).text,

    async stop() {
      await installation.stop();
      await stub.close();
      await ssh.stop();
      temporary.remove();
    },
  };
}

/** A script line that calls a tool. */
export const call = (tool: string, input: object) => `CALL: ${tool} ${JSON.stringify(input)}`;
/** A script line that belongs to the same model response as the line before. */
export const also = (line: string) => `+ ${line}`;

export const edit = (path: string, old_text: string, new_text: string) =>
  call("edit_file", { path, edits: [{ old_text, new_text }] });

// biome-ignore lint/suspicious/noExplicitAny: event data has many shapes
export function dataOf(events: Event[], type: string): any[] {
  return events.filter((event) => event.type === type).map(({ data }) => data);
}

/** The user messages of a request, including our own notes. */
export function spokenIn({ parsed }: RecordedRequest): string[] {
  return parsed.messages.flatMap((message) => (message.role === "user" ? [message.text] : []));
}

export function resultsIn({ parsed }: RecordedRequest): string[] {
  return parsed.messages.flatMap((message) => (message.role === "result" ? [message.text] : []));
}
