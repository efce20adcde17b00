import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import type { WireFormat } from "@outrider/contract/harness";
import type { Harness, Model } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { useCallback } from "react";
import { queries } from "../queries.ts";

/**
 * Harnesses are the agent programs that execute runs. A harness works only with models whose provider speaks one of its
 * wire formats, so forms offer only combinations that the server accepts.
 */

const formatLabels: Record<WireFormat, string> = {
  "anthropic-messages": "Anthropic Messages",
  "openai-responses": "OpenAI Responses",
  "openai-chat": "OpenAI Chat Completions",
  gemini: "Gemini",
};

/** How many models a sentence lists. */
const MAX_LISTED = 3;

export function formatNames({ wire_formats }: Pick<Harness, "wire_formats">): string {
  return joinWithOr(wire_formats.map((format) => formatLabels[format]));
}

/** Returns a harness. Undefined if it is not configured, or while the list is loading. */
export function useHarness(name: string): Harness | undefined {
  const { data } = useQuery(queries.harnesses());
  return data?.find((harness) => harness.name === name);
}

/** Returns why a harness is unavailable, as a phrase without a period. */
export function reasonOf({ reason = "no connected worker can use it" }: Harness): string {
  return reason.replace(/\.$/, "");
}

/** Returns the harness of a run whose form does not choose one. */
export function useDefaultHarness(environmentId: string | undefined): string {
  const { data } = useQuery(queries.environments());
  const environment = data?.find(({ environment_id }) => environment_id === environmentId);
  return environment?.harness ?? DEFAULT_HARNESS;
}

/** Returns a function that translates a harness's name to its title. The built-in harness has none. */
export function useHarnessTitles(): (name: string | undefined) => string | undefined {
  const { data } = useQuery(queries.harnesses());
  return useCallback(
    (name) =>
      name === undefined || name === DEFAULT_HARNESS
        ? undefined
        : (data?.find((harness) => harness.name === name)?.title ?? name),
    [data],
  );
}

/** Returns the models that a form offers: those that work with the harness. */
export function offeredModels(models: readonly Model[], harness: Harness | undefined): readonly Model[] {
  if (!harness || harness.name === DEFAULT_HARNESS) return models;
  return models.filter(({ model_id }) => harness.models.includes(model_id));
}

/**
 * Returns why a model, or else the default model, does not work with a harness, phrased to follow the label "Model". An unavailable model is not a
 * problem of the harness.
 */
export function useModelProblem(harnessName: string, modelId: string | undefined): string | undefined {
  const { data } = useQuery(queries.models());
  const harness = useHarness(harnessName);
  const model = data?.models.find(({ model_id }) => model_id === (modelId || data.default_model_id));
  if (!harness || !model?.available || offeredModels([model], harness).length > 0) return undefined;
  const problem = `\`${model.model_id}\` does not work with ${harness.title}, which needs a model with the ${formatNames(harness)} API`;
  const [first, ...others] = harness.models;
  if (first === undefined) return `${problem}. No such model is configured. Choose another harness`;
  const listed = [first, ...others.slice(0, MAX_LISTED - 1)].map((id) => `\`${id}\``);
  return `${problem}. Choose ${joinWithOr([...listed, "another harness"])}`;
}

/** Joins words to a list such as "a, b or c". */
function joinWithOr(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} or ${last}` : last;
}
