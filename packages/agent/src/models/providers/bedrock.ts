import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import type { AssignedModel } from "@outrider/contract/worker";
import type { ProviderModel } from "../provider.ts";
import { boundFrames } from "./bounded-frames.ts";
import { requireSetting } from "./cloud-setting.ts";
import { type OpenOptions, secureFetch, withSettings } from "./provider-settings.ts";

/**
 * Opens a model of Amazon Bedrock. A request has an API key, or it is signed with an access key. Every setting has a
 * value, because the AI SDK reads absent ones from the worker's environment variables.
 */
export function bedrockModel(work: AssignedModel, options: OpenOptions): ProviderModel {
  const region = requireSetting(work, "region");
  const { access_key_id = "", secret_access_key = "", session_token } = work.credentials ?? {};
  const bedrock = createAmazonBedrock({
    region,
    baseURL: work.base_url ?? `https://bedrock-runtime.${region}.amazonaws.com`,
    apiKey: work.api_key ?? "",
    accessKeyId: access_key_id,
    secretAccessKey: secret_access_key,
    ...(session_token ? { sessionToken: session_token } : {}),
    headers: work.headers ?? {},
    fetch: secureFetch(work, { bound: boundFrames, send: options.send }),
  });
  return withSettings(bedrock(work.name), work, options);
}
