import { z } from "zod";
import { firstBytes } from "../output.ts";
import { type FetchedPage, mediaType, pageText } from "./page-text/page-text.ts";
import { defineTool, loadDescription, type Tool } from "./tool.ts";

export const FETCH_URL = "fetch_url";

const MAX_URL_CHARACTERS = 4_096;
/** The result that the model reads. */
const MAX_RESULT_BYTES = 64 * 1024;
/** More than the model reads, so that a secret is redacted before the text is shortened. */
const MAX_REDACTED_CHARACTERS = 512 * 1024;
const MAX_ERROR_BYTES = 2 * 1024;

/** Fetches a page within the run's network policy. Rejects with a message for the model if that is not possible. */
export type FetchPage = (url: URL, signal: AbortSignal) => Promise<FetchedPage>;

// Shared by all runs, because a description is read from a file and a schema is expensive to convert.
const description = loadDescription(FETCH_URL);
const Input = z.object({ url: z.string().min(1).max(MAX_URL_CHARACTERS) });

export function createFetchUrl(fetchPage: FetchPage): Tool {
  return defineTool({
    name: FETCH_URL,
    description,
    isReadOnly: true,
    input: Input,
    async run({ url: text }, { workspace, signal }) {
      const url = URL.canParse(text) ? new URL(text) : undefined;
      if (!url || !/^https?:$/.test(url.protocol))
        throw new Error("`url` must be a complete http or https URL.");
      if (url.username || url.password) throw new Error("`url` must not contain a user name or password.");
      const page = await fetchPage(url, signal);
      const found = await pageText(page, signal);
      const isOk = page.status >= 200 && page.status < 300;
      if (isOk && found === undefined) {
        throw new Error(
          `The URL returned ${mediaType(page)}, which is not text. Download it with \`run_command\`, for example with curl, and inspect the file.`,
        );
      }
      const redacted = workspace.redact((found ?? "").slice(0, MAX_REDACTED_CHARACTERS).toWellFormed());
      if (!isOk) {
        const output = `The server responded with status ${page.status}.\n${firstBytes(redacted, MAX_ERROR_BYTES)}`;
        return { output: output.trim(), is_error: true };
      }
      const shown = firstBytes(redacted, MAX_RESULT_BYTES);
      const isCut = page.isTruncated || shown.length < redacted.length;
      const note = isCut
        ? "\n\n[The text is truncated. Download the URL with `run_command` to read the rest.]"
        : "";
      const moved = page.url === url.href ? "" : `[Redirected to ${page.url}]\n\n`;
      return { output: `${moved}${shown === "" ? "The page contains no text." : shown}${note}` };
    },
  });
}
