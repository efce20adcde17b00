import { asCount, asList, asObject, type Format, type Json, lengthOf } from "./format.ts";

const statuses: Record<number, string> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
};

/** The fields of a tool that the agent runs itself. All others are run by Google. */
const ownTools = ["functionDeclarations", "function_declarations"];

/** Google's Gemini API. Fields can have names in camel case or snake case. */
export const gemini: Format = {
  name: "gemini",
  pathOf: (model, { streams }) =>
    `/${pathOf(model)}:${streams ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  countPathOf: (model) => `/${pathOf(model)}:countTokens`,
  countResponse: (totalTokens) => ({ totalTokens }),
  maxOutputTokens: (body) => {
    const config = configOf(body);
    return asCount(config.maxOutputTokens ?? config.max_output_tokens);
  },
  limitOutput(body, maxOutputTokens) {
    const { max_output_tokens: _, ...config } = configOf(body);
    delete body.generation_config;
    body.generationConfig = { ...config, maxOutputTokens };
  },
  hasTools: ({ tools }) => asList(tools).length > 0,
  forbidTools(body) {
    if (asList(body.tools).length === 0) return;
    delete body.tool_config;
    body.toolConfig = { functionCallingConfig: { mode: "NONE" } };
  },
  dropHostedFeatures(body) {
    const tools = asList(body.tools).flatMap((tool) => {
      const kept = Object.entries(asObject(tool)).filter(([name]) => ownTools.includes(name));
      return kept.length > 0 ? [Object.fromEntries(kept)] : [];
    });
    if (tools.length > 0) {
      body.tools = tools;
      return;
    }
    for (const field of ["tools", "toolConfig", "tool_config"]) delete body[field];
  },
  readUsage: (event, usage) => usage.push(event),
  isFinal: ({ candidates, usageMetadata }) =>
    usageMetadata !== undefined &&
    asList(candidates).some((candidate) => asObject(candidate).finishReason !== undefined),
  charactersOf: ({ candidates }) =>
    asList(candidates)
      .flatMap((candidate) => asList(asObject(asObject(candidate).content).parts))
      .reduce<number>((sum, part) => {
        const { text, functionCall } = asObject(part);
        return sum + lengthOf(text) + (functionCall ? JSON.stringify(functionCall).length : 0);
      }, 0),
  errorBody: (status, message) => ({
    error: { code: status, message, status: statuses[status] ?? "INTERNAL" },
  }),
};

function pathOf(model: string): string {
  return model.includes("/") ? model : `models/${model}`;
}

function configOf(body: Json): Json {
  return { ...asObject(body.generation_config), ...asObject(body.generationConfig) };
}
