/**
 * Reads the settings of models that run in a cloud: Amazon Bedrock, Google Vertex AI and Azure OpenAI. Their usual
 * environment variables belong to the provider of the same name, like the keys of other providers. Workers receive the
 * values with the runs that need them and never read these variables themselves.
 */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { ModelProviderType } from "@outrider/contract/model-provider";
import type { AssignedModel } from "@outrider/contract/worker";
import type { KeySetting, ReadContext } from "./key-setting.ts";

type CloudType = "amazon-bedrock" | "google-vertex" | "azure";
type CloudProvider = Pick<AssignedModel, "cloud_settings" | "credentials"> & { key?: KeySetting };

/** The fields of a provider in the models file that are read here. */
type ProviderEntry = Partial<
  Record<
    | "region"
    | "project"
    | "location"
    | "resource_name"
    | "credentials_file"
    | "base_url"
    | "api_key"
    | "api_key_env"
    | "api_key_file",
    string | undefined
  >
>;

/** Environment variables with credentials, besides the API keys. */
export const cloudKeyVariables = [
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "GOOGLE_APPLICATION_CREDENTIALS",
];

/** Variables that select a provider if all of them are set. */
const selectingVariables: [CloudType, string[]][] = [
  ["amazon-bedrock", ["AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"]],
  ["amazon-bedrock", ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]],
  ["google-vertex", ["GOOGLE_VERTEX_PROJECT", "GOOGLE_VERTEX_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS"]],
  ["azure", ["AZURE_RESOURCE_NAME", "AZURE_API_KEY"]],
];

/** Returns the providers that are configured by environment variables alone. */
export function cloudProvidersFromVariables(variable: ReadContext["variable"]): CloudType[] {
  const selected = selectingVariables.filter(([, names]) => names.every((name) => variable(name)));
  return [...new Set(selected.map(([type]) => type))];
}

interface Entry {
  name: string;
  type: ModelProviderType;
  provider: ProviderEntry;
  key: KeySetting;
}

/** Returns what a provider has in addition to others. Its `key` replaces the one that was read before. */
export function readCloudProvider({ name, type, provider, key }: Entry, context: ReadContext): CloudProvider {
  const { invalid } = context;
  // Variables belong to the provider of the same name. Their values must not be sent to another provider's URL.
  const variable = (variableName: string) => (name === type ? context.variable(variableName) : undefined);
  const fields = { "amazon-bedrock": ["region"], azure: ["resource_name"] } as Record<string, string[]>;
  const allowed =
    type === "google-vertex" ? ["project", "location", "credentials_file"] : (fields[type] ?? []);
  for (const field of ["region", "project", "location", "resource_name", "credentials_file"] as const) {
    if (provider[field] !== undefined && !allowed.includes(field))
      throw invalid(`/${field}`, `is not supported for the type \`${type}\``);
  }
  switch (type) {
    case "amazon-bedrock":
      return readBedrock(provider.region ?? variable("AWS_REGION"), key, variable);
    case "google-vertex":
      return readVertex(provider, variable, context);
    case "azure":
      return readAzure(provider.resource_name ?? variable("AZURE_RESOURCE_NAME"), provider, key);
    default:
      return {};
  }
}

type ReadVariable = (name: string) => string | undefined;

function readBedrock(region: string | undefined, key: KeySetting, variable: ReadVariable): CloudProvider {
  if (!region) return { key: missing("no region: set AWS_REGION, or add `region` to the provider") };
  const cloud_settings = { region };
  const [access_key_id, secret_access_key] = [
    variable("AWS_ACCESS_KEY_ID"),
    variable("AWS_SECRET_ACCESS_KEY"),
  ];
  if (key.from !== "stored" || !access_key_id || !secret_access_key) return { cloud_settings };
  const session_token = variable("AWS_SESSION_TOKEN");
  const credentials = { access_key_id, secret_access_key, ...(session_token ? { session_token } : {}) };
  return { key: { from: "credentials" }, cloud_settings, credentials };
}

function readAzure(
  resource_name: string | undefined,
  { base_url }: ProviderEntry,
  key: KeySetting,
): CloudProvider {
  if (!resource_name && !base_url)
    return { key: missing("no resource: set AZURE_RESOURCE_NAME, or add `resource_name` to the provider") };
  return { key, ...(resource_name ? { cloud_settings: { resource_name } } : {}) };
}

function readVertex(provider: ProviderEntry, variable: ReadVariable, context: ReadContext): CloudProvider {
  const { api_key, api_key_env, api_key_file } = provider;
  if ([api_key, api_key_env, api_key_file].some((given) => given !== undefined))
    throw context.invalid(
      "",
      "cannot have a key, because its type is `google-vertex`; use `credentials_file`",
    );
  const project = provider.project ?? variable("GOOGLE_VERTEX_PROJECT");
  const location = provider.location ?? variable("GOOGLE_VERTEX_LOCATION");
  if (!project || !location)
    return {
      key: missing(
        "no project or location: set GOOGLE_VERTEX_PROJECT and GOOGLE_VERTEX_LOCATION, or add them",
      ),
    };
  const named = provider.credentials_file && resolve(dirname(context.path), provider.credentials_file);
  const file = named ?? variable("GOOGLE_APPLICATION_CREDENTIALS");
  if (!file)
    return {
      key: missing("no key: set GOOGLE_APPLICATION_CREDENTIALS, or add `credentials_file` to the provider"),
    };
  const account = readServiceAccount(file);
  if (typeof account === "string") return { key: { from: "missing", ...describeFile(file, account) } };
  const { client_email, token_url, private_key } = account;
  return {
    key: { from: "credentials" },
    cloud_settings: { project, location, client_email, ...(token_url ? { token_url } : {}) },
    credentials: { private_key },
  };
}

interface ServiceAccount {
  client_email: string;
  private_key: string;
  token_url?: string;
}

/** Returns the account, or the reason why the file cannot be used. The file's content is never quoted. */
function readServiceAccount(file: string): ServiceAccount | string {
  let json: Record<string, unknown>;
  try {
    json = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    return `cannot be read (${(error as NodeJS.ErrnoException).code ?? "invalid JSON"})`;
  }
  const { client_email, private_key, token_uri } = json;
  if (typeof client_email !== "string" || typeof private_key !== "string")
    return "is not the key file of a service account: it has no `client_email` and `private_key`";
  const token_url = typeof token_uri === "string" && URL.canParse(token_uri) ? token_uri : undefined;
  return { client_email, private_key, ...(token_url ? { token_url } : {}) };
}

function describeFile(file: string, problem: string): { reason: string; publicReason: string } {
  return { reason: `no key: ${file} ${problem}`, publicReason: `no key: its key file ${problem}` };
}

function missing(reason: string): KeySetting {
  return { from: "missing", reason, publicReason: reason };
}
