import type { Logger } from "pino";
import type { KeySetting, ModelSettings } from "../../config/models.ts";
import type { Sql } from "../../store/connection/db.ts";
import { deleteModelKey, listModelKeys, putModelKey } from "../../store/model-keys.ts";
import type { Vault } from "../auth/vault.ts";
import type { Provider } from "./models.ts";

export function keyContext(provider: string): string {
  return `model key ${provider}`;
}

/**
 * Stores the keys that the operator's file contains as plain text, encrypted, so that the operator can remove them from
 * the file. Called when the server starts.
 */
export async function storeConfiguredKeys(
  sql: Sql,
  vault: Vault,
  log: Logger,
  { providers }: ModelSettings,
): Promise<void> {
  const stored = new Map((await listModelKeys(sql)).map(({ provider, sealed }) => [provider, sealed]));
  for (const [name, { key }] of Object.entries(providers)) {
    const sealed = stored.get(name);
    if (key.from === "literal" && key.value === "") {
      if (sealed) log.info({ provider: name }, "removed stored API key of model provider");
      await deleteModelKey(sql, name);
    } else if (key.from === "literal" && (!sealed || vault.open(sealed, keyContext(name)) !== key.value)) {
      await putModelKey(sql, name, vault.seal(key.value, keyContext(name)));
      log.info(
        { provider: name },
        "stored API key of model provider encrypted; it can be removed from the configuration file",
      );
    }
    if (key.from === "missing")
      log.warn({ provider: name, reason: key.reason }, "model provider has no API key");
  }
}

/**
 * Returns each configured provider with its API key. A key from an environment variable or a separate file is used but
 * not stored. A provider without a key of its own uses the stored one.
 */
export function resolveProviders(
  { providers }: Pick<ModelSettings, "providers">,
  vault: Vault,
  keys: ReadonlyMap<string, Buffer>,
): Record<string, Provider> {
  const resolved: Record<string, Provider> = {};
  for (const [name, { key, ...provider }] of Object.entries(providers)) {
    let api_key = key.from === "outside" || key.from === "literal" ? key.value : undefined;
    const sealed = keys.get(name);
    if (key.from === "stored" && sealed) api_key = vault.open(sealed, keyContext(name));
    const isOptional = provider.type === "openai-compatible" || key.from === "credentials";
    const needsKey = !isOptional || key.from === "missing";
    resolved[name] = { ...provider, ...(api_key ? { api_key } : needsKey ? reasonsOf(key) : {}) };
  }
  return resolved;
}

function reasonsOf(key: KeySetting): Pick<Provider, "reason" | "publicReason"> {
  if (key.from === "missing" || key.from === "stored")
    return { reason: key.reason, publicReason: key.publicReason };
  return { reason: "no key: it is empty", publicReason: "no key: it is empty" };
}
