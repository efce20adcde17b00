import type { Message, Prompt } from "@outrider/agent/models/provider";
import { userTexts } from "./user-texts.ts";

type AssistantPart = Extract<Message, { role: "assistant" }>["content"][number];

/** How agents tell the model where they work. */
const WORKING_FOLDER =
  /(?:working in the directory|working directory|workspace directories|<cwd>)[^/]{0,20}(\/[^\s<"]+)/i;

/** Collects the messages of a request as the scripted model reads them. */
export class PromptBuilder {
  readonly prompt: Prompt = [];
  workingFolder: string | undefined;
  readonly #callIds = new Set<string>();

  addUser(texts: string[]) {
    for (const text of texts) this.workingFolder ??= WORKING_FOLDER.exec(text)?.[1];
    for (const text of texts.flatMap(userTexts))
      this.prompt.push({ role: "user", content: [{ type: "text", text }] });
  }

  addAssistantText(text: string) {
    if (text !== "") this.#addAssistant({ type: "text", text });
  }

  /** A call that the agent sends again, with the same id, counts once. */
  addCall({ id, name, input }: { id: string; name: string; input: unknown }) {
    const toolCallId = id || `call-${this.#callIds.size + 1}`;
    if (this.#callIds.has(toolCallId)) return;
    this.#callIds.add(toolCallId);
    this.#addAssistant({ type: "tool-call", toolCallId, toolName: name, input });
  }

  addResult({ id, text }: { id: string; text: string }) {
    const output = { type: "text" as const, value: text };
    this.prompt.push({
      role: "tool",
      content: [{ type: "tool-result", toolCallId: id, toolName: "", output }],
    });
  }

  #addAssistant(part: AssistantPart) {
    const last = this.prompt.at(-1);
    if (last?.role === "assistant") last.content.push(part);
    else this.prompt.push({ role: "assistant", content: [part] });
  }
}
