import type { Config } from "@outrider/server/config";
import { type Finding, fail, ok, warn } from "./finding.ts";

const REACH_MS = 5_000;

/** Where providers are that need no address. */
const usual: Record<string, string> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
};

/** Which providers are configured; with `reach`, whether anybody answers there. Nothing is sent but the question. */
export async function modelFindings(config: Config, { reach }: { reach: boolean }): Promise<Finding[]> {
  let providers: ReturnType<Config["models"]>["providers"];
  try {
    ({ providers } = config.models());
  } catch (error) {
    return [fail("models", "the configuration of models cannot be read", (error as Error).message)];
  }
  const names = Object.keys(providers);
  if (names.length === 0)
    return [
      warn(
        "models",
        "only the scripted one, which is not an LLM",
        "docs/models.md says how to configure one",
      ),
    ];
  const configured = ok("models", `providers: ${names.join(", ")}`);
  if (!reach) return [configured];
  const reached = await Promise.all(
    names.map((name) => answers(name, providers[name]?.base_url ?? usual[providers[name]?.type ?? ""])),
  );
  return [configured, ...reached.flat()];
}

async function answers(name: string, address: string | undefined): Promise<Finding[]> {
  if (!address) return [];
  const { host } = new URL(address);
  try {
    await fetch(address, { method: "HEAD", signal: AbortSignal.timeout(REACH_MS) });
    return [ok("models", `${name}: ${host} answers`)];
  } catch (error) {
    const cause = (error as { cause?: { code?: string } }).cause?.code ?? (error as Error).name;
    return [
      fail(
        "models",
        `${name}: ${host} does not answer (${cause})`,
        "look at this machine's network and proxy",
      ),
    ];
  }
}
