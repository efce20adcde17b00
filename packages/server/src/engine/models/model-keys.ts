import type { Logger } from "pino";
import type { KeySetting, ModelSettings } from "../../config/models.ts";
import type { Sql } from "../../store/connection/db.ts";
import { deleteModelKey, listModelKeys, putModelKey } from "../../store/model-keys.ts";
import type { Vault } from "../auth/vault.ts";
import type { Provider } from "./models.ts";

const contextOf = (provider: string) => `model key ${provider}`;

/**
 * Returns each provider with its API key. If the operator's configuration file contains a key as plain text, the key is
 * encrypted and stored, so that the operator can remove it from the file. A key from an environment variable or a
 * separate file is used but not stored.
 */
export async function resolveProviders(
  sql: Sql,
  vault: Vault,
  log: Logger,
  settings: ModelSettings,
): Promise<Record<string, Provider>> {
  const stored = new Map((await listModelKeys(sql)).map(({ provider, sealed }) => [provider, sealed]));
  const openStored = (provider: string) => {
    const sealed = stored.get(provider);
    return sealed && vault.open(sealed, contextOf(provider));
  };
  const resolved: Record<string, Provider> = {};
  for (const [name, { key, ...provider }] of Object.entries(settings.providers)) {
    let api_key = key.from === "outside" || key.from === "literal" ? key.value : undefined;
    if (key.from === "stored") api_key = openStored(name);
    if (key.from === "literal" && key.value === "") {
      if (stored.has(name)) log.info({ provider: name }, "removed stored API key of model provider");
      await deleteModelKey(sql, name);
    } else if (key.from === "literal" && openStored(name) !== key.value) {
      await putModelKey(sql, name, vault.seal(key.value, contextOf(name)));
      log.info(
        { provider: name },
        "stored API key of model provider encrypted; it can be removed from the configuration file",
      );
    }
    if (key.from === "missing")
      log.warn({ provider: name, reason: key.reason }, "model provider has no API key");
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
