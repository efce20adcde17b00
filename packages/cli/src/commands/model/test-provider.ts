import type { Outrider } from "@outrider/sdk";
import { exits } from "../../exit-codes.ts";
import type { Output } from "../../terminal/output.ts";
import { sanitizeLine } from "../../terminal/sanitize.ts";
import { Status } from "../../terminal/status.ts";

/** The server waits for the model for up to 20 seconds. */
const TIMEOUT_MS = 60_000;

interface TestOptions {
  client: Outrider;
  out: Output;
  name: string;
  model?: string | undefined;
}

/** Makes a real call, prints the result and sets the exit code. */
export async function testProvider({ client, out, name, model }: TestOptions): Promise<void> {
  const status = new Status(out);
  status.show(`Calling a model of ${name}`);
  const document = await client.modelProviders
    .test(name, model ? { model } : {}, { timeout: TIMEOUT_MS, maxRetries: 0 })
    .finally(() => status.stop());
  const { ok, message, remedy, response } = document;
  if (!ok) process.exitCode = exits.failed;
  if (out.isJson) return out.document(document);
  if (out.isQuiet) return out.print(ok ? "passed" : "failed");
  const { green, red } = out.style;
  out.print(`${ok ? green("✓") : red("✗")} ${sanitizeLine(message)}`);
  if (response) out.print(`  It answered: ${sanitizeLine(response)}`);
  if (remedy) out.print(`  ${sanitizeLine(remedy)}`);
}
