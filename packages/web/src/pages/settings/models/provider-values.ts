import type { ModelProvider, ModelProviderType, OwnModel, PutModelProviderRequest } from "@outrider/sdk";

export interface ModelValues extends Omit<OwnModel, "id" | "prices"> {
  id: string | undefined;
  input: number | undefined;
  output: number | undefined;
}

export interface ProviderValues {
  name: string | undefined;
  type: ModelProviderType;
  base_url: string | undefined;
  api: "responses" | "chat" | undefined;
  region: string | undefined;
  project: string | undefined;
  location: string | undefined;
  resource_name: string | undefined;
  api_key: string | undefined;
  models: ModelValues[];
}

export const blankModel: ModelValues = { id: undefined, input: undefined, output: undefined };

export function valuesOf(provider: ModelProvider | undefined, type: ModelProviderType): ProviderValues {
  const { name, base_url, api, region, project, location, resource_name, models = [] } = provider ?? {};
  return {
    ...{ name, type, base_url, api, region, project, location, resource_name, api_key: undefined },
    models: models.map(({ prices, ...model }) => ({
      ...model,
      input: prices?.input_usd_per_mtok,
      output: prices?.output_usd_per_mtok,
    })),
  };
}

/** Returns the request. Prices that the form does not show are kept. */
export function requestOf(values: ProviderValues, before: OwnModel[]): PutModelProviderRequest {
  const { name: _, models, ...settings } = values;
  return {
    ...settings,
    models: models.map(({ input, output, id = "", ...model }) => {
      const known = before.find((each) => each.id === id)?.prices;
      const prices = { ...known, input_usd_per_mtok: input ?? 0, output_usd_per_mtok: output ?? 0 };
      return { id, ...model, ...(input === undefined && output === undefined ? {} : { prices }) };
    }),
  } as PutModelProviderRequest;
}
