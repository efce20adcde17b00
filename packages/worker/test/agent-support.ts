import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type RecordedRequest,
  type StubModel,
  type StubOptions,
  startStubModel,
} from "../../agent/test/stub-model/server.ts";
import { makeFolder, Origin, serveSsh } from "./git-server.ts";
import { mounts } from "./mcp-support.ts";
import { type Event, startWorld } from "./world.ts";

export const modelKey = "sk-of-the-agents-model-0123456789";

const prices = { input_usd_per_mtok: 10, output_usd_per_mtok: 50 };

/** One provider for each way in which a model is spoken to. */
export const modelIds = {
  anthropic: "anthropic/claude-stub",
  responses: "openai/gpt-5-stub",
  chat: "gateway/gpt-stub",
  gemini: "google/gemini-2.5-stub",
  compatible: "house/qwen-stub",
};

function modelsFile(stub: StubModel): object {
  const api_key = modelKey;
  const priced = { prices, sees_images: true };
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

export type AgentWorld = Awaited<ReturnType<typeof startAgentWorld>>;

/** The real service whose models are a stub's, and a real git server over ssh from which environments are made. */
export async function startAgentWorld({
  settings = {},
  stub: stubOptions = {},
}: {
  settings?: Record<string, string>;
  stub?: StubOptions;
} = {}) {
  const place = makeFolder();
  const ssh = await serveSsh(place.folder);
  const stub = await startStubModel({ apiKey: modelKey, ...stubOptions });
  const models = join(place.folder, "models.json");
  writeFileSync(models, JSON.stringify(modelsFile(stub)));
  const world = await startWorld({ OUTRIDER_MODELS: models, ...settings });
  const put = await world.call("PUT", "/agent/secrets/GIT_KEY", { body: { value: ssh.key } });
  if (put.status >= 300) throw new Error(put.text);
  mkdirSync(join(place.folder, "acme"));

  return {
    ...world,
    stub,
    gitKey: ssh.key,
    /** What a worker must be allowed to reach to have the repositories. */
    gitAddress: `127.0.0.1:${ssh.port}`,
    /** A worker in this process, which has a Node for its sandboxes and may reach these ports of loopback besides git. */
    agentWorker: (...ports: number[]) =>
      world.worker({
        mounts,
        allowedAddresses: [ssh.port, ...ports].map((port) => `127.0.0.1:${port}`).join(),
      }),

    /** A repository `acme/NAME` with these files, on its branch main. */
    repository(name: string, files: Record<string, string>): Origin & { url: string } {
      const origin = new Origin(join(place.folder, "acme"), name);
      origin.push("main", files);
      return Object.assign(origin, { url: `ssh://${ssh.user}@127.0.0.1:${ssh.port}${origin.bare}` });
    },

    async environment(origin: { url: string }, body: object = {}): Promise<string> {
      const repos = [{ url: origin.url, secret: "GIT_KEY" }];
      const name = `env of ${origin.url} ${Math.random()}`.slice(-120);
      const made = await world.call("POST", "/agent/environments", { body: { name, repos, ...body } });
      if (made.status !== 201) throw new Error(made.text);
      return made.body.environment_id;
    },

    /** A run of this script, and what its model was asked so far. */
    async begin(script: string[], body: object = {}) {
      const job = `Job ${randomUUID()}.`;
      const run = await world.create([job, ...script], body);
      const requests = () => stub.requests.filter((request) => spokenIn(request)[0]?.startsWith(job));
      return { run, requests };
    },

    diff: async (run: string): Promise<string> => (await world.call("GET", `/agent/runs/${run}/diff`)).text,

    async stop() {
      await world.stop();
      await stub.close();
      await ssh.stop();
      place.remove();
    },
  };
}

/** A line of a script that calls a tool. */
export const call = (tool: string, input: object) => `CALL: ${tool} ${JSON.stringify(input)}`;
/** The same as a part of the answer that the line before began. */
export const also = (line: string) => `+ ${line}`;

export const edit = (path: string, old_text: string, new_text: string) =>
  call("edit_file", { path, edits: [{ old_text, new_text }] });

// biome-ignore lint/suspicious/noExplicitAny: what events say is of every shape
export function dataOf(events: Event[], type: string): any[] {
  return events.filter((event) => event.type === type).map(({ data }) => data);
}

export function outputOf(events: Event[], command?: string): string {
  return dataOf(events, "command.output")
    .filter(({ command_id }) => command === undefined || command_id === command)
    .map(({ text }) => text)
    .join("");
}

/** What users said in a request, our own notes included. */
export function spokenIn({ heard }: RecordedRequest): string[] {
  return heard.messages.flatMap((message) => (message.role === "user" ? [message.text] : []));
}

export function resultsIn({ heard }: RecordedRequest): string[] {
  return heard.messages.flatMap((message) => (message.role === "result" ? [message.text] : []));
}
