import type { Outrider } from "@outrider/sdk";

/** Long enough for large patches over slow connections. */
const TIMEOUT_MS = 300_000;

/** Downloads the changes of a run. Files can have any encoding, so the patch is not text. */
export async function readPatch(client: Outrider, runId: string): Promise<Uint8Array> {
  const response = await client.runs.diff(runId, { timeout: TIMEOUT_MS }).asResponse();
  return new Uint8Array(await response.arrayBuffer());
}
