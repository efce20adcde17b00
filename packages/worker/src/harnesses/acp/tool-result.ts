/** What the log contains of the input and the result of a tool call, whose content is the agent's word. */
import { truncateMiddle } from "@outrider/agent/output";
import { isSupportedImage, MAX_IMAGE_BYTES } from "@outrider/agent/supported-images";
import { z } from "zod";
import type { ToolCallState } from "./profile.ts";
import { textOf } from "./tool-call-state.ts";

const MAX_INPUT_CHARACTERS = 256 * 1024;
const MAX_IMAGES = 20;

type Redact = (text: string) => string;

/** Returns the input of a call. The log gets only the beginning of a very large one. */
export function toolInput({ rawInput, title }: ToolCallState, redact: Redact): unknown {
  if (rawInput === undefined)
    return title === "" ? {} : { title: redact(title).slice(0, MAX_INPUT_CHARACTERS) };
  const text = JSON.stringify(rawInput);
  if (text.length <= MAX_INPUT_CHARACTERS) return rawInput;
  return { truncated: redact(text).slice(0, MAX_INPUT_CHARACTERS) };
}

/** Returns the output as the tool returned it, or else as the agent shows it. */
export function toolOutput(call: ToolCallState, redact: Redact): string {
  const { rawOutput } = call;
  const shown = textOf(call);
  const text = typeof rawOutput === "string" && rawOutput !== "" ? rawOutput : shown || mcpText(rawOutput);
  if (text !== "") return truncateMiddle(redact(text));
  return rawOutput === undefined ? "" : truncateMiddle(redact(JSON.stringify(rawOutput)));
}

const McpOutput = z.object({
  result: z.object({ content: z.array(z.object({ text: z.string().optional() })) }),
});

/** Codex passes on what an MCP server returned. */
function mcpText(rawOutput: unknown): string {
  const { result } = McpOutput.safeParse(rawOutput).data ?? {};
  return (result?.content ?? []).flatMap(({ text }) => (text === undefined ? [] : [text])).join("\n");
}

export function toolImages({ content }: ToolCallState): { mime_type: string; data: Buffer }[] {
  return content
    .flatMap(({ content: block }) => {
      if (block?.type !== "image" || block.data === undefined || block.mimeType === undefined) return [];
      if (!isSupportedImage(block.mimeType) || block.data.length > 2 * MAX_IMAGE_BYTES) return [];
      const data = Buffer.from(block.data, "base64");
      return data.length > MAX_IMAGE_BYTES ? [] : [{ mime_type: block.mimeType, data }];
    })
    .slice(0, MAX_IMAGES);
}
