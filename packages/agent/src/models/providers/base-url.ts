import type { AssignedModel } from "@outrider/contract/worker";
import { Failure } from "../../failure.ts";
import { requireSetting } from "./cloud-setting.ts";

/** Returns the URL that the paths of a provider's API are appended to. Throws a Failure if the operator must set it. */
export function baseUrlOf(work: AssignedModel): string {
  const { provider, base_url, model_id } = work;
  switch (provider) {
    case "anthropic":
      return base_url ?? "https://api.anthropic.com/v1";
    case "openai":
      return base_url ?? "https://api.openai.com/v1";
    case "google":
      return base_url ?? "https://generativelanguage.googleapis.com/v1beta";
    case "google-vertex":
      return vertexUrl(work);
    case "azure":
      return base_url ?? `https://${requireSetting(work, "resource_name")}.openai.azure.com/openai/v1`;
    default: {
      if (base_url) return base_url;
      const message = `The provider of ${model_id} has no base_url. The operator must set it in Outrider's model configuration.`;
      throw new Failure("model_not_available", message);
    }
  }
}

function vertexUrl(work: AssignedModel): string {
  const project = requireSetting(work, "project");
  const location = requireSetting(work, "location");
  const origin = work.base_url ?? `https://${vertexHost(location)}`;
  return `${origin}/v1beta1/projects/${project}/locations/${location}/publishers/google`;
}

function vertexHost(location: string): string {
  if (location === "global") return "aiplatform.googleapis.com";
  const isMultiRegion = location === "eu" || location === "us";
  return isMultiRegion
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location}-aiplatform.googleapis.com`;
}
