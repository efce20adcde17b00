import { nearestName } from "@outrider/contract/fault";
import type { ListModelsResponse, Model } from "@outrider/contract/model";
import type { ModelWork } from "@outrider/contract/worker";
import type { ModelSettings, ProviderSettings, ProviderType } from "../config/models.ts";
import published from "./models.json" with { type: "json" };
import { badMember } from "./refusal.ts";

/** A provider as it was configured, with its key or with why it has none. */
export interface Provider extends Omit<ProviderSettings, "key"> {
  api_key?: string;
  reason?: string;
}

/** The models of this installation. */
export interface Models {
  list: ListModelsResponse;
  /** The model that is meant, be it by an alias; refuses what cannot be used, with the reason. */
  require(modelId: string, pointer: string): Model;
  /** The one of this name, used or not. Undefined where no provider could have it. */
  find(modelId: string): Model | undefined;
  /** As the worker of a run is to call it. A model that is no longer configured says so. */
  work(modelId: string): ModelWork;
}

const scripted: Model = {
  model_id: "scripted",
  provider: "outrider",
  description: "Not an LLM: the prompt is its script. For trying things out and for tests, offline.",
  context_tokens: 1_000_000,
  sees_images: false,
  prices: { input_usd_per_mtok: 0, output_usd_per_mtok: 0 },
  available: true,
};

type Facts = Pick<Model, "context_tokens" | "max_output_tokens" | "sees_images" | "prices">;
interface Catalogue {
  default?: string;
  /** What is taken for granted of a model that nobody has described. */
  unlisted: Facts;
  models: Record<string, Facts>;
}
const catalogues: Record<ProviderType, Catalogue> = published;

/** Without a provider the scripted model serves, so that everything runs offline. */
export function openModels({
  providers,
  aliases,
  defaultModelId,
}: Pick<ModelSettings, "aliases" | "defaultModelId"> & { providers: Record<string, Provider> }): Models {
  const find = (modelId: string): Model | undefined => {
    if (modelId === scripted.model_id) return scripted;
    const target = at(aliases, modelId);
    if (target !== undefined) {
      const meant = find(target);
      return meant && { ...meant, model_id: modelId, alias_of: target };
    }
    const { provider, name } = split(modelId);
    const owner = at(providers, provider);
    return owner && name ? modelOf({ provider, name }, owner) : undefined;
  };
  const listed = Object.entries(providers).flatMap(([provider, owner]) =>
    namesOf(owner).map((name) => modelOf({ provider, name }, owner)),
  );
  const known = [...Object.keys(aliases), ...listed.map(({ model_id }) => model_id), scripted.model_id];
  for (const [alias, target] of Object.entries(aliases)) {
    if (Object.hasOwn(aliases, target))
      throw new Error(`The alias \`${alias}\` means \`${target}\`, which is an alias itself.`);
    if (alias === scripted.model_id) throw new Error("No alias may be called `scripted`.");
    if (!find(target)) throw new Error(`The alias \`${alias}\` means ${unknown(target, known)}.`);
  }
  if (defaultModelId !== undefined && !find(defaultModelId)) {
    throw new Error(`The default model is ${unknown(defaultModelId, known)}.`);
  }
  const named = Object.keys(aliases).map((alias) => find(alias) as Model);
  const models = [...named, ...listed, scripted];
  const default_model_id = defaultModelId ?? firstDefault(providers) ?? scripted.model_id;
  return {
    list: { default_model_id, models },
    find,
    require(modelId, pointer) {
      const model = find(modelId);
      if (model?.available) return model.alias_of ? (find(model.alias_of) as Model) : model;
      if (model) throw badMember(pointer, `cannot be used: ${model.reason}`, "model_not_available");
      const usable = models.filter(({ available }) => available).map(({ model_id }) => `\`${model_id}\``);
      const message = `is not a model of this installation; available: ${usable.join(", ")}`;
      throw badMember(pointer, message, "model_not_available");
    },
    work(modelId) {
      const model = find(modelId);
      if (model === scripted)
        return { ...factsOf(scripted), model_id: modelId, provider: "scripted", name: modelId };
      const { provider, name } = split(model?.alias_of ?? modelId);
      const owner = at(providers, provider);
      if (!model?.available || !owner) {
        const unavailable = model?.reason ?? `the provider \`${provider}\` is not configured any more`;
        return {
          ...factsOf(model ?? scripted),
          model_id: modelId,
          provider: "openai-compatible",
          name,
          unavailable,
        };
      }
      const { type, base_url, api, api_key, headers, models: own } = owner;
      return {
        ...factsOf(model),
        model_id: modelId,
        provider: type,
        name: at(own, name)?.name ?? name,
        ...(api ? { api } : {}),
        ...(base_url ? { base_url } : {}),
        ...(api_key ? { api_key } : {}),
        ...(headers ? { headers } : {}),
      };
    },
  };
}

/** Names come from outside: one like `constructor` must not find what every object has. */
function at<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function split(modelId: string): { provider: string; name: string } {
  const at = modelId.indexOf("/");
  return at < 0
    ? { provider: modelId, name: "" }
    : { provider: modelId.slice(0, at), name: modelId.slice(at + 1) };
}

function namesOf({ type, models }: Provider): string[] {
  return [...new Set([...Object.keys(models), ...Object.keys(catalogues[type].models)])];
}

/** What the operator says of a model counts more than what is published. */
function modelOf({ provider, name }: { provider: string; name: string }, owner: Provider): Model {
  const { models, unlisted } = catalogues[owner.type];
  const { name: called = name, ...own } = at(owner.models, name) ?? {};
  const facts = { ...(at(models, called) ?? unlisted), ...own } as Facts;
  const reason = owner.reason ? { reason: owner.reason } : {};
  return {
    model_id: `${provider}/${name}`,
    provider,
    ...facts,
    available: owner.reason === undefined,
    ...reason,
  };
}

function factsOf({ context_tokens, max_output_tokens, sees_images, prices }: Model): Facts {
  return {
    context_tokens,
    ...(max_output_tokens === undefined ? {} : { max_output_tokens }),
    sees_images,
    ...(prices ? { prices } : {}),
  };
}

function firstDefault(providers: Record<string, Provider>): string | undefined {
  for (const [provider, owner] of Object.entries(providers)) {
    const name = Object.keys(owner.models)[0] ?? catalogues[owner.type].default;
    if (!owner.reason && name) return `${provider}/${name}`;
  }
  return undefined;
}

function unknown(modelId: string, known: string[]): string {
  const nearest = nearestName(modelId, known);
  const hint = nearest ? ` (did you mean \`${nearest}\`?)` : "";
  return `\`${modelId}\`, which is no model of a configured provider${hint}; write it as \`provider/model\``;
}

/** What a run may cost can be held to only where it is known what a call costs. */
export function requirePrice(models: Models, modelId: string, pointer: string) {
  if (models.find(modelId)?.prices) return;
  throw badMember(
    pointer,
    `cannot be held to: \`${modelId}\` has no price in this installation; leave it out, or use a model with prices`,
  );
}
