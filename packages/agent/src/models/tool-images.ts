import type { LanguageModelMiddleware } from "ai";
import type { Message, Prompt } from "./provider.ts";

type ToolMessage = Extract<Message, { role: "tool" }>;
type UserPart = Extract<Message, { role: "user" }>["content"][number];

/**
 * Chat Completions takes nothing but text as the result of a tool: what else there is would be sent as text too, all of
 * its bytes. So images go into a message behind the results, where the user speaks.
 */
export const toolImagesBeside: LanguageModelMiddleware = {
  specificationVersion: "v4",
  transformParams: async ({ params }) => ({ ...params, prompt: params.prompt.flatMap(beside) }),
};

function beside(message: Message): Prompt {
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
      texts.push("[an image, shown below]");
    }
    return { ...part, output: { type: "text" as const, value: texts.join("\n") } };
  });
  const results: ToolMessage = { ...message, content };
  return images.length > 0 ? [results, { role: "user", content: images }] : [results];
}
