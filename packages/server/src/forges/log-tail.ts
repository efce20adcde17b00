import type { OutboundNetwork } from "../outbound/outbound-network.ts";

const MAX_LOG_BYTES = 16 * 1024 ** 2;
const TAIL_CHARACTERS = 8_000;
/** Escape sequences for colors, and the time at the start of each line of GitHub Actions. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
const noise = /\u001b\[[0-9;]*[A-Za-z]|^\d{4}-\d\d-\d\dT[\d:.]+Z /gm;

/**
 * Returns the end of a log, or undefined if it cannot be read. Forges redirect to a storage service whose URL is signed,
 * which is called without the credential.
 */
export async function readLogTail(
  network: OutboundNetwork,
  { url, headers }: { url: string; headers: Record<string, string> },
): Promise<string | undefined> {
  const fetch = network.fetch({ maxBytes: MAX_LOG_BYTES });
  try {
    const first = await fetch(url, { headers: { "user-agent": "outrider", ...headers }, redirect: "manual" });
    const location = first.headers.get("location");
    const isRedirect = first.status >= 300 && first.status < 400 && location !== null;
    const response = isRedirect ? await fetch(new URL(location, url), { redirect: "manual" }) : first;
    if (!response.ok) return undefined;
    const text = (await response.text()).replace(noise, "").trimEnd();
    return text === "" ? undefined : text.slice(-TAIL_CHARACTERS);
  } catch {
    return undefined;
  }
}
