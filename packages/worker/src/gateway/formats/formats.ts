import type { WireFormat } from "@outrider/contract/harness";
import { anthropicMessages } from "./anthropic-messages.ts";
import type { Format } from "./format.ts";
import { gemini } from "./gemini.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";

export const formats: Record<WireFormat, Format> = {
  "anthropic-messages": anthropicMessages,
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  gemini,
};
