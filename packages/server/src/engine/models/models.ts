import { nearestName } from "@outrider/contract/errors/field-error";
import { type WireFormat, wireFormatsOf } from "@outrider/contract/harness";
import type { ListModelsResponse, Model } from "@outrider/contract/model";
import type { ModelSource } from "@outrider/contract/model-provider";
import type { AssignedModel } from "@outrider/contract/worker";
import type { ModelSettings, ProviderSettings, ProviderType } from "../../config/models.ts";
import { invalidField } from "../api-error.ts";
import published from "./models.json" with { type: "json" };

/** A configured provider with its API key, or the reason it has none. */
export interface Provider extends Omit<ProviderSettings, "key" | "source"> {
  source?: ModelSource;
  /** Set if an admin chose the URL through the API. */
  address_policy?: AssignedModel["address_policy"];
  api_key?: string;
  /** For admins: may name files of this machine. */
  reason?: string;
  publicReason?: string;
}

/** The models that are available in this installation. */
export interface Models {
  list: ListModelsResponse;
  /** The list with reasons that may name files of this machine. */
  listForAdmins: ListModelsResponse;
  /** Resolves aliases and returns the model. Throws an error that states the reason if the model is unavailable. */
  require(modelId: string, pointer: string): Model;
  /** Returns a model, even if it is unavailable, or undefined if no configured provider has it. */
  find(modelId: string): Model | undefined;
  /**
   * Returns what a worker needs to call the model. If the model is no longer configured, the result states the reason
   * instead.
   */
  work(modelId: string): AssignedModel;
  /** Returns the wire formats that the provider of a model speaks, even if the model is unavailable. */
  wireFormats(modelId: string): readonly WireFormat[];
  /** Returns where the provider of a model is configured. */
  sourceOf(modelId: string): ModelSource | undefined;
}

export const SCRIPTED_MODEL = "scripted";

const scripted: Model = {
  model_id: SCRIPTED_MODEL,
  provider: "outrider",
  description: "Not an LLM: it runs the prompt as a script. Works offline; use it for tests and experiments.",
  context_tokens: 1_000_000,
  supports_images: false,
  supports_reasoning_effort: false,
  prices: { input_usd_per_mtok: 0, output_usd_per_mtok: 0 },
  available: true,
};

type ModelProperties = Pick<
  Model,
  "context_tokens" | "max_output_tokens" | "supports_images" | "supports_reasoning_effort" | "prices"
>;
interface Catalog {
  default?: string;
  /** Assumed properties for models that are not in the catalog. */
  unlisted: ModelProperties;
  models: Record<string, ModelProperties>;
}
const catalogs: Record<ProviderType, Catalog> = published;

/**
 * Creates the model list. If no provider is configured, the scripted model is the default, so that everything works
 * offline.
 */
export function openModels({
  providers,
  aliases,
  defaultModelId,
}: Pick<ModelSettings, "aliases" | "defaultModelId"> & { providers: Record<string, Provider> }): Models {
  const find = (modelId: string): Model | undefined => {
    if (modelId === scripted.model_id) return scripted;
    const target = lookUp(aliases, modelId);
    if (target !== undefined) {
      const model = find(target);
      return model && { ...model, model_id: modelId, alias_of: target };
    }
    const { provider, name } = split(modelId);
    const owner = lookUp(providers, provider);
    return owner && name ? modelOf({ provider, name }, owner) : undefined;
  };
  const listed = Object.entries(providers).flatMap(([provider, owner]) =>
    namesOf(owner).map((name) => modelOf({ provider, name }, owner)),
  );
  const known = [...Object.keys(aliases), ...listed.map(({ model_id }) => model_id), scripted.model_id];
  for (const [alias, target] of Object.entries(aliases)) {
    if (Object.hasOwn(aliases, target))
      throw new Error(
        `The alias \`${alias}\` refers to \`${target}\`, which is an alias itself. Name a model.`,
      );
    if (alias === scripted.model_id)
      throw new Error("`scripted` cannot be an alias: it is the name of a built-in model.");
    if (!find(target)) throw new Error(`The alias \`${alias}\` refers to ${unknown(target, known)}.`);
  }
  if (defaultModelId !== undefined && !find(defaultModelId)) {
    throw new Error(`The default model is ${unknown(defaultModelId, known)}.`);
  }
  const named = Object.keys(aliases).map((alias) => find(alias) as Model);
  const models = [...named, ...listed, scripted];
  const default_model_id = defaultModelId ?? firstDefault(providers) ?? scripted.model_id;
  const withReason = (model: Model): Model => {
    const { reason } = lookUp(providers, model.provider) ?? {};
    return reason === undefined ? model : { ...model, reason };
  };
  const wireFormats = (modelId: string): readonly WireFormat[] => {
    const model = find(modelId);
    if (!model) return [];
    if (model.alias_of) return wireFormats(model.alias_of);
    if (model === scripted) return wireFormatsOf("scripted");
    const owner = lookUp(providers, model.provider);
    return owner ? wireFormatsOf(owner.type, owner.api) : [];
  };
  return {
    wireFormats,
    sourceOf: (modelId) => lookUp(providers, split(lookUp(aliases, modelId) ?? modelId).provider)?.source,
    list: { default_model_id, models },
    listForAdmins: { default_model_id, models: models.map(withReason) },
    find,
    require(modelId, pointer) {
      const model = find(modelId);
      if (model?.available) return model.alias_of ? (find(model.alias_of) as Model) : model;
      if (model) throw invalidField(pointer, `cannot be used: ${model.reason}`, "model_not_available");
      const usable = models.filter(({ available }) => available).map(({ model_id }) => `\`${model_id}\``);
      const message = `is not a model of this installation; available: ${usable.join(", ")}`;
      throw invalidField(pointer, message, "model_not_available");
    },
    work(modelId) {
      const model = find(modelId);
      if (model === scripted)
        return { ...propertiesOf(scripted), model_id: modelId, provider: "scripted", name: modelId };
      const { provider, name } = split(model?.alias_of ?? modelId);
      const owner = lookUp(providers, provider);
      if (!model?.available || !owner) {
        const unavailable = model?.reason ?? `the provider \`${provider}\` is no longer configured`;
        return {
          ...propertiesOf(model ?? scripted),
          model_id: modelId,
          provider: "openai-compatible",
          name,
          unavailable,
        };
      }
      const { type, base_url, api, api_key, headers, cloud_settings, credentials, address_policy } = owner;
      return {
        ...propertiesOf(model),
        model_id: modelId,
        provider: type,
        name: lookUp(owner.models, name)?.name ?? name,
        ...(api ? { api } : {}),
        ...(base_url ? { base_url } : {}),
        ...(api_key ? { api_key } : {}),
        ...(headers ? { headers } : {}),
        ...(cloud_settings ? { cloud_settings } : {}),
        ...(credentials ? { credentials } : {}),
        ...(address_policy ? { address_policy } : {}),
      };
    },
  };
}

/** Looks up own properties only, because names are user input and could match inherited ones such as `constructor`. */
function lookUp<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function split(modelId: string): { provider: string; name: string } {
  const slash = modelId.indexOf("/");
  return slash < 0
    ? { provider: modelId, name: "" }
    : { provider: modelId.slice(0, slash), name: modelId.slice(slash + 1) };
}

function namesOf({ type, models }: Provider): string[] {
  return [...new Set([...Object.keys(models), ...Object.keys(catalogs[type].models)])];
}

/** Returns a provider's model. The operator's configuration takes precedence over the catalog. */
function modelOf({ provider, name }: { provider: string; name: string }, owner: Provider): Model {
  const { models, unlisted } = catalogs[owner.type];
  const { name: called = name, ...own } = lookUp(owner.models, name) ?? {};
  const properties = { ...(lookUp(models, called) ?? unlisted), ...own } as ModelProperties;
  const reason = owner.reason ? { reason: owner.publicReason ?? "no key" } : {};
  return {
    model_id: `${provider}/${name}`,
    provider,
    ...properties,
    available: owner.reason === undefined,
    ...reason,
  };
}

function propertiesOf({
  context_tokens,
  max_output_tokens,
  supports_images,
  supports_reasoning_effort,
  prices,
}: Model): ModelProperties {
  return {
    context_tokens,
    ...(max_output_tokens === undefined ? {} : { max_output_tokens }),
    supports_images,
    supports_reasoning_effort,
    ...(prices ? { prices } : {}),
  };
}

/** Returns the model of a provider that is used if none is named. */
export function firstModelOf({ type, models }: Provider): string | undefined {
  return Object.keys(models)[0] ?? catalogs[type].default;
}

function firstDefault(providers: Record<string, Provider>): string | undefined {
  for (const [provider, owner] of Object.entries(providers)) {
    const name = firstModelOf(owner);
    if (!owner.reason && name) return `${provider}/${name}`;
  }
  return undefined;
}

function unknown(modelId: string, known: string[]): string {
  const nearest = nearestName(modelId, known);
  const hint = nearest ? ` (did you mean \`${nearest}\`?)` : "";
  return `\`${modelId}\`, which is not a model of a configured provider${hint}; write it as \`provider/model\``;
}

/** Throws if a model has no prices, because a cost limit cannot be enforced without them. */
export function requirePrice(models: Models, modelId: string, pointer: string) {
  if (models.find(modelId)?.prices) return;
  throw invalidField(
    pointer,
    `cannot be enforced: \`${modelId}\` has no price in this installation; omit the limit, or use a model with prices`,
  );
}

/** Throws if a model has no reasoning effort, because the setting would have no effect. */
export function requireReasoningEffort(models: Models, modelId: string, pointer: string) {
  if (models.find(modelId)?.supports_reasoning_effort) return;
  throw invalidField(
    pointer,
    `cannot be set: \`${modelId}\` has no reasoning effort in this installation; omit it, use a model with \`supports_reasoning_effort\`, or ask the operator to set \`supports_reasoning_effort\` for this model`,
  );
}
