import type { Config } from "@outrider/server/config";
import { isLoopback } from "@outrider/server/config/exposure";
import { openVault } from "@outrider/server/engine/auth/vault";
import { combineModels, type EffectiveModels } from "@outrider/server/engine/models/effective-models";
import { OutboundNetwork } from "@outrider/server/outbound/outbound-network";
import type { StoredModels } from "@outrider/server/store/model-providers";
import { type Finding, fail, ok, warn } from "./finding.ts";
import { openMasterVault } from "./master-key.ts";

const CHECK_TIMEOUT_MS = 5_000;
const KEY_BYTES = 32;

/** The base URLs of providers that need no `base_url` in the settings. */
const defaultUrls: Record<string, string> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
};

const sourceLabels = {
  stored: "Settings → Models",
  file: "the models file",
  variables: "environment variables",
  automatic: "the first provider",
};

interface ModelCheckOptions {
  reach: boolean;
  /** Undefined if the database could not be read. */
  stored: StoredModels | undefined;
}

/**
 * Checks the model providers of the models file, of variables and of the database. With `reach`, also checks that they
 * respond, without sending keys or data.
 */
export async function modelFindings(
  config: Config,
  { reach, stored }: ModelCheckOptions,
): Promise<Finding[]> {
  let effective: EffectiveModels;
  try {
    effective = await combine(config, stored);
  } catch (error) {
    return [fail("models", "cannot read the model configuration", (error as Error).message)];
  }
  const views = effective.views();
  const { default_source, effective_default_model_id, problems } = effective.settings;
  return [
    ...(stored
      ? []
      : [warn("models", "stored providers are not known", "fix the checks of the database first")]),
    ...(views.length === 0
      ? [warn("models", "only the scripted test model is available", "connect a real model (docs/models.md)")]
      : [ok("models", `default: ${effective_default_model_id}, from ${sourceLabels[default_source]}`)]),
    ...views.map(({ name, source, reason }) => {
      const message = `${name}, from ${sourceLabels[source]}`;
      return reason ? warn("models", `${message}, cannot be used`, reason) : ok("models", message);
    }),
    ...problems.map((problem) => warn("models", problem, "change it in Settings → Models")),
    ...(reach ? await reachFindings(config, views) : []),
  ];
}

async function combine(config: Config, stored: StoredModels | undefined): Promise<EffectiveModels> {
  const vault = await openMasterVault(config);
  const none: StoredModels = { version: 0, aliases: {}, providers: [], keys: new Map() };
  if (!vault && stored && stored.keys.size > 0)
    throw new Error("The stored keys need the master key: set OUTRIDER_MASTER_KEY.");
  return combineModels(stored ?? none, {
    configured: config.models(),
    // Without stored keys, nothing is decrypted.
    vault: vault ?? openVault(Buffer.alloc(KEY_BYTES)),
    addressPolicy: "public",
  });
}

type Views = ReturnType<EffectiveModels["views"]>;

/** Connects like the server, through its proxy and only to addresses that it may call. */
async function reachFindings(config: Config, views: Views): Promise<Finding[]> {
  const allowsLoopback = isLoopback(config.host) && config.publicUrl === undefined;
  const checked = new OutboundNetwork({ ...config.outboundNetwork, allowsLoopback });
  const unchecked = new OutboundNetwork({ ...config.outboundNetwork, allowsAll: true });
  try {
    const found = await Promise.all(
      views.map(({ name, type, source, base_url }) =>
        checkProvider(name, {
          url: base_url ?? defaultUrls[type],
          network: source === "stored" ? checked : unchecked,
        }),
      ),
    );
    return found.flat();
  } finally {
    await Promise.all([checked.close(), unchecked.close()]);
  }
}

async function checkProvider(
  name: string,
  { url, network }: { url: string | undefined; network: OutboundNetwork },
): Promise<Finding[]> {
  if (!url) return [];
  try {
    await network.fetch({ timeoutMs: CHECK_TIMEOUT_MS })(url, { method: "HEAD", redirect: "manual" });
    return [ok("models", `${name}: ${new URL(url).host} responds`)];
  } catch (error) {
    const message = (error as Error).message.replace(/\.$/, "");
    return [fail("models", `${name}: ${message}`, "check the network and proxy of this machine")];
  }
}
