import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ModelPrices } from "@outrider/contract/model";
import { providerTypes } from "@outrider/contract/model-provider";
import type { AssignedModel } from "@outrider/contract/worker";
import { z } from "zod";
import { cloudKeyVariables, cloudProvidersFromVariables, readCloudProvider } from "./cloud-providers.ts";
import { readJsonFile } from "./json-file.ts";
import type { KeySetting, ReadContext } from "./key-setting.ts";

/** The operator's model settings, read from the models file and from environment variables. */
export interface ModelSettings {
  defaultModelId?: string;
  defaultSource?: ConfigSource;
  providers: Record<string, ProviderSettings>;
  aliases: Record<string, string>;
}

export type { KeySetting } from "./key-setting.ts";

/** Where the operator configured something. */
export type ConfigSource = "file" | "variables";

export interface ProviderSettings {
  /** Absent in tests, where it does not matter. */
  source?: ConfigSource;
  type: ProviderType;
  base_url?: string | undefined;
  api?: "responses" | "chat" | undefined;
  headers?: Record<string, string> | undefined;
  models: Record<string, z.infer<typeof OwnModel>>;
  cloud_settings?: AssignedModel["cloud_settings"];
  credentials?: AssignedModel["credentials"];
  key: KeySetting;
}

const Type = z.enum(providerTypes);
export type ProviderType = z.infer<typeof Type>;

const OwnModel = z.strictObject({
  name: z.string().min(1).max(256).optional(),
  context_tokens: z.int().min(4_096).max(100_000_000).optional(),
  max_output_tokens: z.int().min(256).max(10_000_000).optional(),
  prices: z.strictObject(ModelPrices.shape).optional(),
  supports_images: z.boolean().optional(),
  supports_reasoning_effort: z.boolean().optional(),
});

const Name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/, "must be 1 to 32 letters, digits, `.`, `_` and `-`");
const ModelName = z.string().regex(/^[\x21-\x7e]{1,95}$/, "must be 1 to 95 characters without spaces");
const Url = z.url({ protocol: /^https?$/, error: "must be an http or https URL" });

/** These names become parts of a URL. */
const CloudName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "must be 1 to 63 lower-case letters, digits and `-`");

const Provider = z
  .strictObject({
    type: Type.optional(),
    base_url: Url.optional(),
    api: z.enum(["responses", "chat"]).optional(),
    api_key: z.string().optional(),
    api_key_env: z.string().min(1).optional(),
    api_key_file: z.string().min(1).optional(),
    region: CloudName.optional(),
    project: CloudName.optional(),
    location: CloudName.optional(),
    resource_name: CloudName.optional(),
    credentials_file: z.string().min(1).optional(),
    headers: z.record(z.string().regex(/^[\w-]+$/, "must be a header name"), z.string()).optional(),
    models: z.record(ModelName, OwnModel).optional(),
  })
  .superRefine(({ api_key, api_key_env, api_key_file }, context) => {
    const given = [api_key, api_key_env, api_key_file].filter((key) => key !== undefined);
    if (given.length > 1)
      context.addIssue("may have only one of `api_key`, `api_key_env` and `api_key_file`");
  });

const ModelsFile = z.strictObject({
  default_model_id: z.string().optional(),
  providers: z.record(Name, Provider).optional(),
  aliases: z.record(Name, z.string()).optional(),
});

/** The environment variables with the keys of the built-in providers, which need no entry in the models file. */
const defaultKeyVariables = {
  anthropic: ["ANTHROPIC_API_KEY"],
  openai: ["OPENAI_API_KEY"],
  google: ["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
  "openai-compatible": ["OUTRIDER_OPENAI_COMPATIBLE_KEY"],
  "amazon-bedrock": ["AWS_BEARER_TOKEN_BEDROCK"],
  "google-vertex": [],
  azure: ["AZURE_API_KEY"],
} as const satisfies Record<ProviderType, string[]>;

/** Environment variables that local workers must not inherit, because they contain provider keys. */
export const modelKeyVariables: string[] = [
  ...Object.values(defaultKeyVariables).flat(),
  ...cloudKeyVariables,
];

interface Sources {
  /** The file that the operator configured. If undefined, `models.json` in the data directory is used if it exists. */
  file: string | undefined;
  dataDir: string;
  variable(name: string): string | undefined;
}

/** Reads the model settings. Errors name the file and the field, and say how to fix the problem. */
export function readModels({ file, dataDir, variable }: Sources): ModelSettings {
  const path = file ?? join(dataDir, "models.json");
  const settings = readModelsFile(path, file !== undefined);
  const providers = Object.entries({ ...providersFromVariables(variable), ...settings.providers }).map(
    ([name, provider]) => {
      const invalid = (field: string, message: string) =>
        new Error(`${path}: \`/providers/${name}${field}\` ${message}.`);
      const source: ConfigSource = Object.hasOwn(settings.providers ?? {}, name) ? "file" : "variables";
      return [name, { source, ...readProvider(name, provider, { path, variable, invalid }) }] as const;
    },
  );
  const fromVariable = variable("OUTRIDER_DEFAULT_MODEL");
  const defaultModelId = fromVariable ?? settings.default_model_id;
  return {
    providers: Object.fromEntries(providers),
    aliases: settings.aliases ?? {},
    ...(defaultModelId ? { defaultModelId, defaultSource: fromVariable ? "variables" : "file" } : {}),
  };
}

function readModelsFile(path: string, isRequired: boolean): z.infer<typeof ModelsFile> {
  const hint = "OUTRIDER_MODELS or --models sets the path of the models file.";
  return readJsonFile({ path, schema: ModelsFile, isRequired, hint }) ?? {};
}

/** Returns the providers that are configured by environment variables alone. */
function providersFromVariables(variable: Sources["variable"]): Record<string, z.infer<typeof Provider>> {
  const base_url = variable("OUTRIDER_OPENAI_COMPATIBLE_URL");
  const names = (variable("OUTRIDER_OPENAI_COMPATIBLE_MODELS") ?? "").split(",").map((name) => name.trim());
  const clouds = cloudProvidersFromVariables(variable);
  const builtIn = {
    anthropic: {},
    openai: {},
    google: {},
    ...Object.fromEntries(clouds.map((type) => [type, {}])),
  };
  if (!base_url) return builtIn;
  if (!Url.safeParse(base_url).success) {
    throw new Error("OUTRIDER_OPENAI_COMPATIBLE_URL must be an http or https URL.");
  }
  const models = Object.fromEntries(names.filter(Boolean).map((name) => [name, {}]));
  return { ...builtIn, "openai-compatible": { base_url, models } };
}

function readProvider(
  name: string,
  provider: z.infer<typeof Provider>,
  context: ReadContext,
): ProviderSettings {
  const { invalid } = context;
  const named = Type.safeParse(name).data;
  const type = provider.type ?? named;
  if (!type)
    throw invalid(
      "/type",
      `is required; it must be one of ${Type.options.map((option) => `\`${option}\``).join(", ")}`,
    );
  if (named && named !== type)
    throw invalid("/type", `must be \`${named}\`; choose another name for a provider of another type`);
  if (name === "scripted") throw invalid("", "is a reserved name; choose another");
  const { base_url, api, headers, models = {} } = provider;
  if (type === "openai-compatible" && !base_url)
    throw invalid("/base_url", "is required for an OpenAI-compatible provider");
  if (api && type !== "openai" && type !== "azure")
    throw invalid("/api", "is only supported for the types `openai` and `azure`");
  const key = readKeySetting(name, type, provider, context);
  return {
    type,
    base_url: base_url?.replace(/\/+$/, ""),
    api,
    headers,
    models,
    key,
    ...readCloudProvider({ name, type, provider, key }, context),
  };
}

function readKeySetting(
  name: string,
  type: ProviderType,
  provider: z.infer<typeof Provider>,
  context: ReadContext,
): KeySetting {
  const { path, variable } = context;
  const { api_key, api_key_env, api_key_file } = provider;
  if (api_key !== undefined) {
    const source = `${path}: \`/providers/${name}/api_key\``;
    return { from: "literal", value: api_key === "" ? "" : requireValidKey(api_key, source) };
  }
  if (api_key_env !== undefined) {
    const value = variable(api_key_env);
    if (value) return { from: "outside", name: api_key_env, value: requireValidKey(value, api_key_env) };
    return {
      from: "missing",
      reason: `no key: the variable ${api_key_env}, named in ${path}, is not set`,
      publicReason: `no key: the variable ${api_key_env} is not set`,
    };
  }
  if (api_key_file !== undefined) {
    try {
      const value = readFileSync(resolve(dirname(path), api_key_file), "utf8").trim();
      return { from: "outside", name: api_key_file, value: requireValidKey(value, api_key_file) };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      return {
        from: "missing",
        reason: `no key: ${api_key_file}, named in ${path}, cannot be read (${code})`,
        publicReason: `no key: its key file cannot be read (${code})`,
      };
    }
  }
  // A default variable belongs to the provider of the same name. Its key must not be sent to another provider's URL.
  const names = name === type ? defaultKeyVariables[type] : [];
  const found = names.find((candidate) => variable(candidate));
  if (found)
    return { from: "outside", name: found, value: requireValidKey(variable(found) as string, found) };
  const reasonFor = (file: string) => {
    const variables = names.length > 0 ? `set ${names.join(" or ")}, or ` : "";
    return `no key: ${variables}add a key for the provider \`${name}\` to ${file}`;
  };
  return { from: "stored", reason: reasonFor(path), publicReason: reasonFor("the models file") };
}

function requireValidKey(value: string, source: string): string {
  if (/^[\x21-\x7e]{1,8192}$/.test(value)) return value;
  throw new Error(`${source} is not a valid key: it must be one line of visible characters without spaces.`);
}
