import type { LanguageModelMiddleware } from "ai";
import type { Message, Prompt } from "../provider.ts";

type ToolMessage = Extract<Message, { role: "tool" }>;
type UserPart = Extract<Message, { role: "user" }>["content"][number];

/**
 * Moves images from tool results to a user message after them. Chat Completions accepts only text as a tool result, and
 * the AI SDK would otherwise send an image's bytes as text.
 */
export const moveToolImages: LanguageModelMiddleware = {
  specificationVersion: "v4",
  transformParams: async ({ params }) => ({ ...params, prompt: params.prompt.flatMap(moveImages) }),
};

function moveImages(message: Message): Prompt {
  if (message.role !== "tool") return [message];
  const images: UserPart[] = [];
  const content = message.content.map((part) => {
    if (part.type !== "tool-result" || part.output.type !== "content") return part;
    const texts: string[] = [];
    for (const item of part.output.value) {
      if (item.type === "text") texts.push(item.text);
      if (item.type !== "file") continue;
      images.push({ type: "text", text: `From ${part.toolName} (${part.toolCallId}):` });
      images.push({ type: "file", mediaType: item.mediaType, data: item.data });
      texts.push("[image, shown below]");
    }
    return { ...part, output: { type: "text" as const, value: texts.join("\n") } };
  });
  const results: ToolMessage = { ...message, content };
  return images.length > 0 ? [results, { role: "user", content: images }] : [results];
}
