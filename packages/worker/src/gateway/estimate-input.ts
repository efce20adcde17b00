import { estimateTokens } from "@outrider/agent/conversation/tokens";

/** About the size of a large image for most models, however many bytes it has. */
const FILE_TOKENS = 2_000;
const MIN_FILE_CHARACTERS = 1_000;
const base64 = /^(data:[^,]{0,200},)?[A-Za-z0-9+/_-]+={0,2}$/;

/** A request without files is rarely larger, and searching one for files takes time. */
const MIN_SEARCHED_CHARACTERS = 256 * 1024;

/**
 * Estimates the input tokens of a request in any format. Files in it are base64 text and count by number. `json` is the
 * body as it is sent.
 */
export function estimateInput(body: unknown, json: string): number {
  if (json.length < MIN_SEARCHED_CHARACTERS) return estimateTokens(json);
  let files = 0;
  const text = JSON.stringify(body, (_, value: unknown) => {
    if (typeof value !== "string" || value.length < MIN_FILE_CHARACTERS || !isFile(value)) return value;
    files += 1;
    return "";
  });
  return estimateTokens(text) + files * FILE_TOKENS;
}

/** Checks only the beginning, because a text of that length without a space is no prose either. */
function isFile(value: string): boolean {
  return base64.test(value.slice(0, MIN_FILE_CHARACTERS));
}
