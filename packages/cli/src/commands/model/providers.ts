import type { ModelProvider, ModelProviderType, PutModelProviderRequest } from "@outrider/sdk";
import { Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { UsageError } from "../../exit-codes.ts";
import { omitUndefined } from "../../input/pairs.ts";
import { confirm, isInteractive, prompt } from "../../input/prompt.ts";
import { readFileOrFail, readStdin } from "../../input/text.ts";
import { testProvider } from "./test-provider.ts";

const providerTypes: ModelProviderType[] = [
  "anthropic",
  "openai",
  "google",
  "openai-compatible",
  "amazon-bedrock",
  "google-vertex",
  "azure",
];
const sources = { stored: "stored", file: "models file", variables: "variables" };

export const providers = clientCommand(
  "providers",
  "List model providers, and where each is configured.",
).action(
  withClient(async ({ client, out }) => {
    const document = await client.modelProviders.list();
    out.list<ModelProvider>({
      ...{ document, rows: document.providers, id: ({ name }) => name },
      emptyMessage: "No model provider is connected. Add one with `outrider model add`.",
      columns: [
        { title: "NAME", text: ({ name }) => name },
        { title: "TYPE", text: ({ type }) => type },
        { title: "SOURCE", text: ({ source }) => sources[source] },
        { title: "KEY", text: ({ has_key }) => (has_key ? "yes" : "no") },
        { title: "LAST TEST", text: ({ last_test: test }) => (test ? (test.ok ? "passed" : "failed") : "") },
        {
          title: "",
          text: ({ available, reason }) => (available ? "" : (reason ?? "not available")),
          canShrink: true,
        },
      ],
    });
  }),
);

interface AddFlags {
  type?: ModelProviderType;
  baseUrl?: string;
  api?: "responses" | "chat";
  region?: string;
  project?: string;
  location?: string;
  resourceName?: string;
  model?: string[];
  keyFile?: string;
  key?: boolean;
  test?: boolean;
}

export const add = clientCommand(
  "add",
  "Connect a model provider, or replace its settings. Takes effect on all servers at once.",
)
  .argument("<name>", "name of the provider, such as anthropic, openai, google or one of your own")
  .addOption(new Option("--type <type>", "type of the provider; default: the name").choices(providerTypes))
  .option("--base-url <url>", "address of the API, if it is not the provider's own")
  .addOption(new Option("--api <api>", "for openai and azure").choices(["responses", "chat"]))
  .option("--region <region>", "for amazon-bedrock")
  .option("--project <project>", "for google-vertex")
  .option("--location <location>", "for google-vertex")
  .option("--resource-name <name>", "for azure")
  .option("--model <id...>", "models to list, in addition to those that Outrider knows")
  .option("--key-file <file>", "file with the API key; - reads stdin; default: a prompt")
  .option("--no-key", "keep the stored key, or use none")
  .option("--no-test", "do not make a test call")
  .action(
    withClient<AddFlags>(async ({ client, out, flags }, given) => {
      const name = given as string;
      const type = flags.type ?? providerTypes.find((known) => known === name);
      if (!type) throw new UsageError(`Pass --type with one of ${providerTypes.join(", ")}.`);
      const api_key = await readKey(name, type, flags);
      const body: PutModelProviderRequest = {
        type,
        ...omitUndefined({
          base_url: flags.baseUrl,
          api: flags.api,
          region: flags.region,
          project: flags.project,
          location: flags.location,
          resource_name: flags.resourceName,
          api_key,
        }),
        ...(flags.model ? { models: flags.model.map((id) => ({ id })) } : {}),
      };
      const document = await client.modelProviders.put(name, body);
      out.done({ document, id: name, message: `Connected ${name}.` });
      if (flags.test !== false && !out.isJson && !out.isQuiet) await testProvider({ client, out, name });
    }),
  );

/** Reads the key. It cannot be passed as an argument, because other users of the machine can see arguments. */
async function readKey(
  name: string,
  type: ModelProviderType,
  { key, keyFile }: AddFlags,
): Promise<string | undefined> {
  if (key === false) return undefined;
  if (keyFile === undefined && !isInteractive()) {
    if (type === "openai-compatible") return undefined;
    throw new UsageError("Pass the key with --key-file, or with --key-file - and stdin.");
  }
  const text =
    keyFile === undefined
      ? await prompt(`API key of ${name} (not shown): `, { isHidden: true })
      : keyFile === "-"
        ? await readStdin()
        : readFileOrFail(keyFile).toString("utf8");
  if (text.trim() === "" && type === "openai-compatible") return undefined;
  if (text.trim() === "") throw new UsageError("The key is empty.");
  return text.trim();
}

export const test = clientCommand("test", "Test a model provider with a real call, which costs a few tokens.")
  .argument("<name>")
  .option("--model <model>", "model of the provider; default: its first one")
  .action(
    withClient<{ model?: string }>(async ({ client, out, flags }, name) =>
      testProvider({ client, out, name: name as string, model: flags.model }),
    ),
  );

export const remove = clientCommand("remove", "Remove a stored model provider and its key.")
  .argument("<name>")
  .option("-y, --yes", "skip the confirmation")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, given) => {
      const name = given as string;
      await confirm(`Remove model provider ${name}`, flags);
      await client.modelProviders.delete(name);
      out.done({ document: { name, deleted: true }, id: name, message: `Removed ${name}.` });
    }),
  );

export const setDefault = clientCommand("default", "Show or set the model for runs that do not specify one.")
  .argument("[model]", "ID or alias of a model")
  .option("--automatic", "use the first available model")
  .action(
    withClient<{ automatic?: true }>(async ({ client, out, flags }, given) => {
      const model = given as string | undefined;
      const settings = await client.modelSettings.get();
      const isChange = model !== undefined || flags.automatic === true;
      const { aliases } = settings;
      const document = isChange
        ? await client.modelSettings.set({ aliases, ...(model ? { default_model_id: model } : {}) })
        : settings;
      const { effective_default_model_id: id, default_source } = document;
      const isOverridden = isChange && ["file", "variables"].includes(default_source);
      const label = default_source === "file" ? "the models file" : "a variable of the server";
      const note = isOverridden ? ` It comes from ${label}, which takes precedence.` : "";
      out.done({ document, id, message: `The default model is ${id}.${note}` });
    }),
  );
