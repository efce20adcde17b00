import type { CallTokens } from "@outrider/agent/turn/usage";
import {
  collected,
  dataEvent,
  type ResponseContext,
  type ResponsePart,
  requireList,
  type ScriptedFormat,
} from "./format.ts";
import { type JsonObject, objectOf, objectsOf, stringOf } from "./json.ts";
import { PromptBuilder } from "./prompt.ts";

/** Google's Gemini API. The path contains the model and the method. */
export const gemini: ScriptedFormat = {
  parse(body, path) {
    const { model, method } = parsePath(path);
    // Some clients put the request to count below this name.
    const request = body.contents === undefined ? objectOf(body.generateContentRequest) : body;
    const builder = new PromptBuilder();
    for (const message of objectsOf(requireList(request, "contents"))) addMessage(builder, message);
    const { responseJsonSchema, responseSchema } = objectOf(request.generationConfig);
    const { mode } = objectOf(objectOf(request.toolConfig).functionCallingConfig);
    return {
      model,
      isStreaming: method === "streamGenerateContent",
      prompt: builder.prompt,
      workingFolder: builder.workingFolder,
      tools: objectsOf(request.tools)
        .flatMap(({ functionDeclarations }) => objectsOf(functionDeclarations))
        .map(({ name, parametersJsonSchema, parameters }) => ({
          name: stringOf(name),
          schema: parametersJsonSchema ?? parameters,
        })),
      canCall: mode !== "NONE",
      outputSchema: responseJsonSchema ?? responseSchema,
    };
  },

  async *stream(parts, context) {
    for await (const part of parts) {
      if (part.type === "text") yield dataEvent(response([{ text: part.delta }], context));
      if (part.type === "call") yield dataEvent(response([callPart(part)], context));
      if (part.type === "end") yield dataEvent(response([{ text: "" }], context, part.tokens));
    }
  },

  whole(parts, context) {
    const { text, calls, tokens } = collected(parts);
    return response([...(text === "" ? [] : [{ text }]), ...calls.map(callPart)], context, tokens);
  },

  countTokens: (path, tokens) =>
    parsePath(path).method === "countTokens" ? { totalTokens: tokens } : undefined,
};

function parsePath(path: string) {
  const [, model = "", method = ""] = /\/models\/([^/:?]+):([A-Za-z]+)(?:\?|$)/.exec(path) ?? [];
  return { model, method };
}

function addMessage(builder: PromptBuilder, { role, parts }: JsonObject) {
  for (const { text, thought, functionCall, functionResponse } of objectsOf(parts)) {
    if (role === "model") {
      if (thought !== true) builder.addAssistantText(stringOf(text));
      if (functionCall === undefined) continue;
      const { id, name, args } = objectOf(functionCall);
      builder.addCall({ id: stringOf(id), name: stringOf(name), input: args });
    } else {
      if (typeof text === "string") builder.addUser([text]);
      if (functionResponse === undefined) continue;
      const { id, response } = objectOf(functionResponse);
      builder.addResult({ id: stringOf(id), text: JSON.stringify(response) ?? "" });
    }
  }
}

function callPart({ id, tool, input }: Extract<ResponsePart, { type: "call" }>) {
  return { functionCall: { id, name: tool.name, args: input } };
}

function response(parts: object[], { id, model }: ResponseContext, tokens?: CallTokens) {
  return {
    candidates: [{ index: 0, content: { role: "model", parts }, ...(tokens && { finishReason: "STOP" }) }],
    ...(tokens && {
      usageMetadata: {
        promptTokenCount: tokens.input,
        candidatesTokenCount: tokens.output,
        totalTokenCount: tokens.input + tokens.output,
      },
    }),
    modelVersion: model,
    responseId: id,
  };
}
