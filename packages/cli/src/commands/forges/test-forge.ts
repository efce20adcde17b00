import type { Forge, Outrider } from "@outrider/sdk";
import { exits } from "../../exit-codes.ts";
import type { Output } from "../../terminal/output.ts";
import { sanitizeLine } from "../../terminal/sanitize.ts";
import { Status } from "../../terminal/status.ts";

/** The server clones and pushes, which can take a while. */
const TIMEOUT_MS = 180_000;

interface TestOptions {
  client: Outrider;
  out: Output;
  forge: Forge;
  repository: string;
}

/** Tests the access to a repository, prints each step and sets the exit code. */
export async function testForge({ client, out, forge, repository }: TestOptions): Promise<void> {
  const status = new Status(out);
  status.show(`Testing ${repository} at ${forge.host}`);
  const document = await client.forges
    .test(forge.forge_id, { repository }, { timeout: TIMEOUT_MS, maxRetries: 0 })
    .finally(() => status.stop());
  if (!document.ok) process.exitCode = exits.failed;
  if (out.isJson) {
    out.document(document);
    return;
  }
  if (out.isQuiet) {
    out.print(document.ok ? "passed" : "failed");
    return;
  }
  const { green, red } = out.style;
  for (const { step, ok, message, remedy } of document.steps) {
    const text = sanitizeLine(`${step.replaceAll("_", " ")}: ${message}`);
    out.print(`${ok ? green("✓") : red("✗")} ${text}`);
    if (remedy) out.print(`  ${sanitizeLine(remedy)}`);
  }
}
