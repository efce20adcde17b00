/** Changes the stored model providers, the default model and the aliases. */
import { createPrivateKey } from "node:crypto";
import { nearestName } from "@outrider/contract/errors/field-error";
import {
  type ModelProvider,
  type ModelSettingsRequest,
  type ModelTest,
  type PutModelProviderRequest,
  providerTypes,
} from "@outrider/contract/model-provider";
import type { ModelSettings } from "../../config/models.ts";
import { OutboundError } from "../../outbound/outbound-error.ts";
import type { OutboundNetwork } from "../../outbound/outbound-network.ts";
import type { Sql, Tx } from "../../store/connection/db.ts";
import { deleteModelKey, putModelKey } from "../../store/model-keys.ts";
import {
  deleteModelProvider,
  findStoredModels,
  lockModelSettings,
  type ModelProviderRow,
  putModelProvider,
  putModelSettings,
  recordModelTest,
  type StoredProviderSettings,
} from "../../store/model-providers.ts";
import { ApiError, invalidField } from "../api-error.ts";
import type { Vault } from "../auth/vault.ts";
import { type EffectiveModels, isConfigured, sourceLabel } from "./effective-models.ts";
import type { LiveModels } from "./live-models.ts";
import { keyContext } from "./model-keys.ts";
import { firstModelOf, type Models, openModels } from "./models.ts";
import { parseServiceAccount } from "./service-account.ts";
import { testProvider } from "./test-provider.ts";

const MAX_PROVIDERS = 50;

/** A model that a setting outside the database refers to. */
export interface ModelReference {
  /** Such as "the harness `codex`". */
  by: string;
  modelId: string;
}

export interface ModelProvidersOptions {
  configured: ModelSettings;
  models: LiveModels;
  vault: Vault;
  /** For URLs that admins choose, and for URLs that the operator chose. */
  networks: { checked: OutboundNetwork; unchecked: OutboundNetwork };
  references: ModelReference[];
}

export class ModelProviders {
  readonly #options: ModelProvidersOptions;

  constructor(options: ModelProvidersOptions) {
    this.#options = options;
  }

  /** Checks what needs no transaction, because resolving a name takes time. */
  async check(name: string, request: PutModelProviderRequest): Promise<void> {
    requireValidSettings(name, request);
    const { base_url, type, api_key } = request;
    const account = type === "google-vertex" && api_key ? parseServiceAccount(api_key) : undefined;
    await this.#requireAllowed(base_url, "/base_url");
    await this.#requireAllowed(account?.token_url, "/api_key");
  }

  async #requireAllowed(url: string | undefined, pointer: string): Promise<void> {
    if (!url) return;
    await this.#options.networks.checked.requireAllowed(url).catch((error) => {
      if (!(error instanceof OutboundError)) throw error;
      throw invalidField(pointer, `cannot be used: ${error.message.replace(/\.$/, "")}`);
    });
  }

  async put(
    tx: Tx,
    { name, request, createdBy }: { name: string; request: PutModelProviderRequest; createdBy: string },
  ): Promise<{ provider: ModelProvider; changed: EffectiveModels }> {
    const { vault, models } = this.#options;
    await lockModelSettings(tx);
    const before = await findStoredModels(tx);
    this.#requireStored(name);
    const existing = before.providers.find((row) => row.name === name);
    if (!existing && before.providers.length >= MAX_PROVIDERS)
      throw new ApiError("conflict", `At most ${MAX_PROVIDERS} providers can be stored. Delete one first.`);
    if (existing && existing.type !== request.type)
      throw invalidField("/type", `is \`${existing.type}\` and cannot be changed; add another provider`);
    const settings = settingsOf(request);
    if (request.api_key === undefined && before.keys.has(name)) requireSameAddress(existing, settings);
    const row = { name, type: request.type, settings, models: request.models ?? [], createdBy };
    await putModelProvider(tx, row);
    if (request.api_key) await putModelKey(tx, name, vault.seal(request.api_key, keyContext(name)));
    if (request.api_key === null) await deleteModelKey(tx, name);
    const changed = models.combine(await findStoredModels(tx));
    return { provider: changed.viewOf(name) as ModelProvider, changed };
  }

  async delete(tx: Tx, name: string): Promise<EffectiveModels> {
    const { models } = this.#options;
    await lockModelSettings(tx);
    const before = models.combine(await findStoredModels(tx));
    this.#requireStored(name);
    if (!before.viewOf(name)) throw providerNotFound(name);
    const user = this.#findUser(name, before);
    if (user) throw new ApiError("conflict", `${user} uses a model of \`${name}\`. Change that first.`);
    await deleteModelProvider(tx, name);
    return models.combine(await findStoredModels(tx));
  }

  async setSettings(
    tx: Tx,
    { default_model_id, aliases = {} }: ModelSettingsRequest,
  ): Promise<EffectiveModels> {
    const { models, configured } = this.#options;
    await lockModelSettings(tx);
    const { providers } = models.combine(await findStoredModels(tx));
    const known = openModels({ providers, aliases: {} });
    for (const [alias, target] of Object.entries(aliases)) {
      const pointer = `/aliases/${alias}`;
      if (alias === "scripted") throw invalidField(pointer, "is the name of a built-in model");
      if (Object.hasOwn(configured.aliases, alias))
        throw invalidField(pointer, "is defined in the models file of the server; change it there");
      requireModel(known, target, pointer);
    }
    const all = openModels({ providers, aliases: { ...aliases, ...configured.aliases } });
    if (default_model_id !== undefined) requireModel(all, default_model_id, "/default_model_id");
    await putModelSettings(tx, { defaultModelId: default_model_id, aliases });
    return models.combine(await findStoredModels(tx));
  }

  /** Makes a real call and stores the result. */
  async test(sql: Sql, { name, model }: { name: string; model: string | undefined }): Promise<ModelTest> {
    const { models, networks } = this.#options;
    const { providers, viewOf, models: effective } = await models.read(sql);
    const provider = providers[name];
    if (!viewOf(name) || !provider) throw providerNotFound(name);
    const modelName = model ?? firstModelOf(provider);
    if (!modelName)
      throw new ApiError(
        "operation_not_supported",
        `No model of \`${name}\` is known. Send the name of one as \`model\`, or add it to the provider.`,
      );
    const work = effective.work(`${name}/${modelName}`);
    if (work.unavailable)
      throw new ApiError("operation_not_supported", `\`${name}\` cannot be called: ${work.unavailable}.`);
    const network = provider.address_policy ? networks.checked : networks.unchecked;
    const test = await testProvider({ work, network, host: hostOf(work.base_url) ?? titles[work.provider] });
    await recordModelTest(sql, name, test);
    return test;
  }

  #requireStored(name: string): void {
    const { configured } = this.#options;
    if (!isConfigured(configured, name)) return;
    const { source = "file" } = configured.providers[name] ?? {};
    const remedy =
      source === "file"
        ? "Change it there and restart the servers."
        : "Change or remove the variable and restart the servers.";
    throw new ApiError("conflict", `The provider \`${name}\` comes from ${sourceLabel(source)}. ${remedy}`);
  }

  /** Returns what refers to a model of the provider. */
  #findUser(name: string, { settings }: EffectiveModels): string | undefined {
    const { configured, references } = this.#options;
    const isOwn = (modelId = "") => modelId.startsWith(`${name}/`);
    const aliases = { ...settings.aliases, ...configured.aliases };
    const alias = Object.entries(aliases).find(([, target]) => isOwn(target))?.[0];
    if (alias) return `The alias \`${alias}\``;
    if (isOwn(settings.default_model_id) || isOwn(configured.defaultModelId)) return "The default model";
    return references.find(({ modelId }) => isOwn(modelId))?.by;
  }
}

const titles = {
  scripted: "The scripted model",
  anthropic: "Anthropic",
  openai: "OpenAI",
  google: "Google",
  "openai-compatible": "The provider",
  "amazon-bedrock": "Amazon Bedrock",
  "google-vertex": "Google Vertex AI",
  azure: "Azure OpenAI",
};

function hostOf(url: string | undefined): string | undefined {
  return url && URL.canParse(url) ? new URL(url).host : undefined;
}

export function providerNotFound(name: string): ApiError {
  return new ApiError("resource_not_found", `No model provider has the name \`${name}\`.`);
}

function settingsOf(request: PutModelProviderRequest): StoredProviderSettings {
  const { base_url, api, region, project, location, resource_name } = request;
  const given = { base_url: base_url?.replace(/\/+$/, ""), api, region, project, location, resource_name };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The fields that each type has besides `base_url`, and those that it must have. */
const fieldsOf: Record<string, { allowed: (keyof StoredProviderSettings)[]; required: string[] }> = {
  anthropic: { allowed: [], required: [] },
  openai: { allowed: ["api"], required: [] },
  google: { allowed: [], required: [] },
  "openai-compatible": { allowed: [], required: ["base_url"] },
  "amazon-bedrock": { allowed: ["region"], required: ["region"] },
  "google-vertex": { allowed: ["project", "location"], required: ["project", "location"] },
  azure: { allowed: ["api", "resource_name"], required: [] },
};

function requireValidSettings(name: string, request: PutModelProviderRequest): void {
  const { type, api_key } = request;
  if (name === "scripted") throw invalidField("/name", "is reserved; choose another name for the provider");
  if (name !== type && (providerTypes as readonly string[]).includes(name))
    throw invalidField("/type", `must be \`${name}\`; choose another name for a provider of another type`);
  const { allowed, required } = fieldsOf[type] as (typeof fieldsOf)[string];
  for (const field of ["api", "region", "project", "location", "resource_name"] as const) {
    if (request[field] !== undefined && !allowed.includes(field))
      throw invalidField(`/${field}`, `is not supported for the type \`${type}\``);
  }
  for (const field of required as (keyof StoredProviderSettings)[]) {
    if (request[field] === undefined) throw invalidField(`/${field}`, `is required for the type \`${type}\``);
  }
  if (type === "azure" && !request.resource_name && !request.base_url)
    throw invalidField("/resource_name", "is required for the type `azure`, unless `base_url` is given");
  if (!api_key) return;
  if (type === "google-vertex") {
    const account = parseServiceAccount(api_key);
    if (!account || !isPrivateKey(account.private_key))
      throw invalidField("/api_key", "must be the content of the key file of a service account, in JSON");
  } else if (!/^[\x21-\x7e]{1,8192}$/.test(api_key)) {
    throw invalidField("/api_key", "must be one line of visible characters without spaces");
  }
}

function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "rsa";
  } catch {
    return false;
  }
}

/** A key is never sent to an address that its owner did not choose. Otherwise an admin could read it there. */
function requireSameAddress(existing: ModelProviderRow | undefined, settings: StoredProviderSettings): void {
  const before = existing?.settings ?? {};
  const isSame = before.base_url === settings.base_url && before.resource_name === settings.resource_name;
  if (!isSame)
    throw invalidField("/api_key", "is required again, because the address of the provider changes");
}

function requireModel(models: Models, modelId: string, pointer: string): void {
  const model = models.find(modelId);
  if (model?.available) return;
  if (model) throw invalidField(pointer, `cannot be used: ${model.reason}`);
  const nearest = nearestName(
    modelId,
    models.list.models.map(({ model_id }) => model_id),
  );
  const hint = nearest ? ` (did you mean \`${nearest}\`?)` : "";
  throw invalidField(
    pointer,
    `is not a model of a connected provider${hint}; write it as \`provider/model\``,
  );
}
