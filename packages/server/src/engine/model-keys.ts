import type { ModelSettings } from "../config/models.ts";
import type { Sql } from "../store/db.ts";
import { deleteModelKey, listModelKeys, putModelKey } from "../store/model-keys.ts";
import type { Provider } from "./models.ts";
import type { Vault } from "./vault.ts";

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

const contextOf = (provider: string) => `model key ${provider}`;

/**
 * Each provider with its key. One that stands in the operator's file is sealed into the database, so that the file can drop
 * it; one that comes by a variable or a file of its own is used and not stored.
 */
export async function settleProviders(
  sql: Sql,
  vault: Vault,
  log: Log,
  settings: ModelSettings,
): Promise<Record<string, Provider>> {
  const stored = new Map((await listModelKeys(sql)).map(({ provider, sealed }) => [provider, sealed]));
  const openStored = (provider: string) => {
    const sealed = stored.get(provider);
    return sealed && vault.open(sealed, contextOf(provider));
  };
  const settled: Record<string, Provider> = {};
  for (const [name, { key, ...provider }] of Object.entries(settings.providers)) {
    let api_key = key.from === "outside" || key.from === "literal" ? key.value : undefined;
    if (key.from === "stored") api_key = openStored(name);
    if (key.from === "literal" && key.value === "") {
      if (stored.has(name)) log.info({ provider: name }, "the stored key of a model provider is removed");
      await deleteModelKey(sql, name);
    } else if (key.from === "literal" && openStored(name) !== key.value) {
      await putModelKey(sql, name, vault.seal(key.value, contextOf(name)));
      log.info({ provider: name }, "the key of a model provider is kept encrypted; its file can drop it");
    }
    if (key.from === "missing")
      log.warn({ provider: name, reason: key.reason }, "a model provider has no key");
    const needsKey = provider.type !== "openai-compatible" || key.from === "missing";
    const reason =
      key.from === "missing" ? key.reason : key.from === "stored" ? key.hint : "no key: it is empty";
    settled[name] = { ...provider, ...(api_key ? { api_key } : needsKey ? { reason } : {}) };
  }
  return settled;
}
