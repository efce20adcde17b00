/**
 * Combines what the operator configured (the models file and variables) with what admins stored through the API. The
 * operator's settings take precedence, so that the file describes an installation completely if it wants to.
 *
 * Stored settings can refer to something that the operator has removed since. Such parts have no effect and are
 * reported as problems; they never prevent a server from starting.
 */
import type { ModelProvider, ModelSettings as ModelSettingsView } from "@outrider/contract/model-provider";
import type { ModelSettings } from "../../config/models.ts";
import type { ModelProviderRow, StoredModels } from "../../store/model-providers.ts";
import type { Vault } from "../auth/vault.ts";
import { keyContext, resolveProviders } from "./model-keys.ts";
import { type Models, openModels, type Provider } from "./models.ts";
import { parseServiceAccount } from "./service-account.ts";

export interface EffectiveModels {
  version: number;
  models: Models;
  providers: Record<string, Provider>;
  stored: StoredModels;
  /** Returns how the API shows a provider, or undefined if it is not connected. */
  viewOf(name: string): ModelProvider | undefined;
  views(): ModelProvider[];
  settings: ModelSettingsView;
}

export interface EffectiveOptions {
  configured: ModelSettings;
  vault: Vault;
  /** The addresses that the URLs of stored providers may have. */
  addressPolicy: NonNullable<Provider["address_policy"]>;
}

export function combineModels(
  stored: StoredModels,
  { configured, vault, addressPolicy }: EffectiveOptions,
): EffectiveModels {
  const rows = new Map(stored.providers.map((row) => [row.name, row]));
  const providers = resolveProviders(configured, vault, stored.keys);
  for (const row of stored.providers) {
    if (isConfigured(configured, row.name)) continue;
    providers[row.name] = openStoredProvider(row, { vault, keys: stored.keys, addressPolicy });
  }
  const problems: string[] = [];
  const aliases = usableAliases({ stored, configured, providers, problems });
  const candidate = configured.defaultModelId ?? stored.defaultModelId;
  const withoutDefault = openModels({ providers, aliases });
  const isUsable = candidate === undefined || withoutDefault.find(candidate) !== undefined;
  if (!isUsable && configured.defaultModelId === undefined)
    problems.push(`The default model ${candidate} does not belong to a connected provider.`);
  if (configured.defaultModelId !== undefined && stored.defaultModelId !== undefined)
    problems.push(
      `The stored default ${stored.defaultModelId} has no effect, because ${sourceLabel(configured.defaultSource ?? "file")} sets another.`,
    );
  const usesStored = configured.defaultModelId === undefined && candidate !== undefined && isUsable;
  const defaultModelId = configured.defaultModelId ?? (usesStored ? candidate : undefined);
  const models = openModels({ providers, aliases, ...(defaultModelId ? { defaultModelId } : {}) });

  const viewOf = (name: string): ModelProvider | undefined => {
    const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
    if (!provider) return undefined;
    const isPlaceholder = !isConfigured(configured, name) && !rows.has(name);
    // A built-in provider is connected if it has a key. One from an earlier models file is stored.
    if (isPlaceholder && !provider.api_key) return undefined;
    const row = isConfigured(configured, name) ? undefined : rows.get(name);
    return toView(name, provider, { row, isStored: row !== undefined || isPlaceholder });
  };
  return {
    version: stored.version,
    models,
    providers,
    stored,
    viewOf,
    views: () => Object.keys(providers).flatMap((name) => viewOf(name) ?? []),
    settings: {
      ...(stored.defaultModelId ? { default_model_id: stored.defaultModelId } : {}),
      aliases: stored.aliases,
      effective_default_model_id: models.list.default_model_id,
      default_source: usesStored ? "stored" : (configured.defaultSource ?? "automatic"),
      file_aliases: configured.aliases,
      problems,
    },
  };
}

const builtIn = ["anthropic", "openai", "google"];

/** Whether the operator configured a provider. The built-in ones without a key are only placeholders. */
export function isConfigured({ providers }: Pick<ModelSettings, "providers">, name: string): boolean {
  if (!Object.hasOwn(providers, name)) return false;
  const { source, key } = providers[name] as ModelSettings["providers"][string];
  return source === "file" || key.from !== "stored" || !builtIn.includes(name);
}

export function sourceLabel(source: "file" | "variables"): string {
  return source === "file" ? "the models file" : "an environment variable of the server";
}

/** Returns the aliases of the operator and those stored aliases that resolve to a model. */
function usableAliases({
  stored,
  configured,
  providers,
  problems,
}: {
  stored: StoredModels;
  configured: ModelSettings;
  providers: Record<string, Provider>;
  problems: string[];
}): Record<string, string> {
  const known = openModels({ providers, aliases: {} });
  const usable = Object.entries(stored.aliases).filter(([alias, target]) => {
    if (Object.hasOwn(configured.aliases, alias)) {
      problems.push(`The stored alias ${alias} has no effect, because the models file defines it.`);
      return false;
    }
    const isModel = known.find(target) !== undefined;
    if (!isModel) problems.push(`The alias ${alias} has no effect: ${target} is not a model.`);
    return isModel;
  });
  return { ...Object.fromEntries(usable), ...configured.aliases };
}

function openStoredProvider(
  { name, type, settings, models }: ModelProviderRow,
  {
    vault,
    keys,
    addressPolicy,
  }: { vault: Vault; keys: ReadonlyMap<string, Buffer>; addressPolicy: Provider["address_policy"] },
): Provider {
  const { base_url, api, region, project, location, resource_name } = settings;
  const sealed = keys.get(name);
  const key = sealed && vault.open(sealed, keyContext(name));
  const account = type === "google-vertex" && key ? parseServiceAccount(key) : undefined;
  const cloud = {
    ...(region ? { region } : {}),
    ...(project ? { project } : {}),
    ...(location ? { location } : {}),
    ...(resource_name ? { resource_name } : {}),
    ...(account ? { client_email: account.client_email } : {}),
    ...(account?.token_url ? { token_url: account.token_url } : {}),
  };
  const noKey = "no key: add one in Settings → Models, or with `outrider model add`";
  return {
    source: "stored",
    type,
    base_url,
    api,
    models: Object.fromEntries(models.map(({ id, ...model }) => [id, model])),
    address_policy: addressPolicy,
    ...(Object.keys(cloud).length > 0 ? { cloud_settings: cloud } : {}),
    ...(account ? { credentials: { private_key: account.private_key } } : key ? { api_key: key } : {}),
    ...(key || type === "openai-compatible" ? {} : { reason: noKey, publicReason: noKey }),
  };
}

function toView(
  name: string,
  provider: Provider,
  { row, isStored }: { row: ModelProviderRow | undefined; isStored: boolean },
): ModelProvider {
  const { type, base_url, api, cloud_settings = {}, models, source, api_key, credentials, reason } = provider;
  const { region, project, location, resource_name } = cloud_settings;
  return {
    name,
    type,
    source: isStored ? "stored" : (source ?? "file"),
    ...(base_url ? { base_url } : {}),
    ...(api ? { api } : {}),
    ...(region ? { region } : {}),
    ...(project ? { project } : {}),
    ...(location ? { location } : {}),
    ...(resource_name ? { resource_name } : {}),
    has_key: Boolean(api_key || credentials),
    models: Object.entries(models).map(([id, model]) => ({ id, ...model })),
    available: reason === undefined,
    ...(reason ? { reason } : {}),
    ...(row ? { created_at: row.created_at, updated_at: row.updated_at } : {}),
  };
}
