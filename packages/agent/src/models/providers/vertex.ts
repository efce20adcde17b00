import { createVertex } from "@ai-sdk/google-vertex";
import type { AssignedModel } from "@outrider/contract/worker";
import type { ProviderModel } from "../provider.ts";
import { baseUrlOf } from "./base-url.ts";
import { requireSetting } from "./cloud-setting.ts";
import { reasoningModels, signatureModels, signToolCalls } from "./google.ts";
import { GoogleToken } from "./google-token.ts";
import { type OpenOptions, secureFetch, withSettings } from "./provider-settings.ts";

/** Opens a Gemini model of Google Vertex AI. */
export function vertexModel(work: AssignedModel, options: OpenOptions): ProviderModel {
  const project = requireSetting(work, "project");
  const location = requireSetting(work, "location");
  const token = new GoogleToken(work, options);
  const send = secureFetch(work, options);
  const vertex = createVertex({
    project,
    location,
    baseURL: baseUrlOf(work),
    // With a key, the AI SDK does not load Google's own client, which would read the worker's variables and files and
    // would ignore our limits. The key is replaced by a token.
    apiKey: "unused",
    headers: work.headers ?? {},
    fetch: async (input, init) => {
      const found = await token.get(init?.signal ?? undefined);
      // The failed request for a token is reported like a failed call.
      if (found instanceof Response) return found;
      const headers = new Headers(init?.headers);
      headers.delete("x-goog-api-key");
      headers.set("authorization", `Bearer ${found}`);
      return send(input, { ...init, headers });
    },
  });
  const thoughts = { thinkingConfig: { includeThoughts: true } };
  return withSettings(vertex(work.name), work, options, {
    providerOptions: reasoningModels.test(work.name) ? { googleVertex: thoughts, vertex: thoughts } : {},
    middleware: signatureModels.test(work.name) ? [signToolCalls] : [],
  });
}
