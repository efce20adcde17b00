import type { Config } from "@outrider/server/config";
import { type Finding, fail, ok, warn } from "./finding.ts";

const CHECK_TIMEOUT_MS = 5_000;

/** The base URLs of providers that need no `base_url` in the settings. */
const defaultUrls: Record<string, string> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
};

/** Checks the configured model providers. With `reach`, also checks that they respond, without sending keys or data. */
export async function modelFindings(config: Config, { reach }: { reach: boolean }): Promise<Finding[]> {
  let providers: ReturnType<Config["models"]>["providers"];
  try {
    ({ providers } = config.models());
  } catch (error) {
    return [fail("models", "cannot read the model configuration", (error as Error).message)];
  }
  const names = Object.keys(providers);
  if (names.length === 0)
    return [
      warn("models", "only the scripted test model is available", "connect a real model (docs/models.md)"),
    ];
  const configured = ok("models", `providers: ${names.join(", ")}`);
  if (!reach) return [configured];
  const reached = await Promise.all(
    names.map((name) =>
      checkProvider(name, providers[name]?.base_url ?? defaultUrls[providers[name]?.type ?? ""]),
    ),
  );
  return [configured, ...reached.flat()];
}

async function checkProvider(name: string, url: string | undefined): Promise<Finding[]> {
  if (!url) return [];
  const { host } = new URL(url);
  try {
    await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) });
    return [ok("models", `${name}: ${host} responds`)];
  } catch (error) {
    const cause = (error as { cause?: { code?: string } }).cause?.code ?? (error as Error).name;
    return [
      fail(
        "models",
        `${name}: ${host} does not respond (${cause})`,
        "check the network and proxy of this machine",
      ),
    ];
  }
}
