import { truncateMiddle } from "../output.ts";
import type { ToolResult } from "../tools/tool.ts";
import type { ServerToolResult } from "./messages/reduce-tool-result.ts";

/** Converts a server's result to the form that the model reads. */
export function toToolResult(
  { text, images, isError }: ServerToolResult,
  redact: (text: string) => string,
): ToolResult {
  return {
    output: truncateMiddle(redact(text === "" ? "The tool returned nothing." : text)),
    ...(isError ? { is_error: true as const } : {}),
    ...(images.length > 0 ? { images } : {}),
  };
}
