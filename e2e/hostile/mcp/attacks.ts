import type { Attack } from "./attack.ts";
import { brokenStreams } from "./attacks/broken-streams.ts";
import { oversizedLists } from "./attacks/oversized-lists.ts";
import { oversizedResults } from "./attacks/oversized-results.ts";
import { unstorableText } from "./attacks/unstorable-text.ts";

/** All attacks by MCP servers, by name. The first server is harmless, which proves that such servers work. */
export const attacks: Record<string, Attack> = {
  "no attack": { expected: /^SUCCEEDED: ordinary$/ },
  ...oversizedResults,
  ...oversizedLists,
  ...brokenStreams,
  ...unstorableText,
};
