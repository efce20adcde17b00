import { JobThreads } from "../../threads/job-threads.ts";
import type { Page } from "./html-to-markdown.ts";

/** Each tag becomes an object of several hundred bytes. Pages that people write have far fewer. */
const MAX_TAGS = 100_000;

const threads = new JobThreads<Page, string>({
  program: new URL("./converter-program.ts", import.meta.url),
  maxMs: 10_000,
  // Several times what a page with MAX_TAGS needs, because V8 may abort the process when a thread reaches its limit.
  heapMb: 1_024,
});

/** A response whose body has been read. */
export interface FetchedPage {
  /** The URL after redirects. */
  url: string;
  status: number;
  /** The value of the `content-type` header. */
  contentType: string;
  body: Buffer;
  /** Whether the body is longer than what was read. */
  isTruncated: boolean;
}

const textTypes =
  /^(?:text\/|application\/(?:json|xml|javascript|ecmascript|yaml|x-yaml|toml|x-ndjson|sql|graphql))/;
const htmlTypes = ["text/html", "application/xhtml+xml"];

/** Returns the text of a page: HTML as Markdown, other text as it is, and undefined for anything else. */
export async function pageText(page: FetchedPage, signal: AbortSignal): Promise<string | undefined> {
  const { url, contentType, body } = page;
  const type = mediaType(page);
  if (!textTypes.test(type) && !/\+(?:json|xml)$/.test(type)) return undefined;
  const text = decode(body, contentType);
  if (!htmlTypes.includes(type)) return text;
  if (countTags(text) <= MAX_TAGS) {
    const outcome = await threads.run({ html: text, url }, { signal });
    if (outcome.type === "done") return outcome.result;
  }
  throw new Error(
    "The page is too complex to convert to text. Download it with `run_command` and read the parts that you need.",
  );
}

function countTags(html: string): number {
  let count = 0;
  for (let at = html.indexOf("<"); at >= 0 && count <= MAX_TAGS; at = html.indexOf("<", at + 1)) count += 1;
  return count;
}

/** Returns the type that the server sent. Without one, a body without NUL bytes counts as text. */
export function mediaType({ contentType, body }: FetchedPage): string {
  const [type = ""] = contentType.split(";");
  if (type.trim() !== "") return type.trim().toLowerCase();
  return body.subarray(0, 8_192).includes(0) ? "application/octet-stream" : "text/plain";
}

function decode(body: Buffer, contentType: string): string {
  const [, charset = "utf-8"] = /;\s*charset="?([\w.:-]{1,40})/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(charset).decode(body);
  } catch {
    return body.toString();
  }
}
