import type { ModelProviderType, ModelTest, OwnModel } from "@outrider/contract/model-provider";
import type { Sql, Tx } from "./connection/db.ts";
import { json } from "./connection/json.ts";
import { listModelKeys } from "./model-keys.ts";

/** The settings of a stored provider, without its key. */
export interface StoredProviderSettings {
  base_url?: string | undefined;
  api?: "responses" | "chat" | undefined;
  region?: string | undefined;
  project?: string | undefined;
  location?: string | undefined;
  resource_name?: string | undefined;
}

export interface ModelProviderRow {
  name: string;
  type: ModelProviderType;
  settings: StoredProviderSettings;
  models: OwnModel[];
  created_at: string;
  updated_at: string;
}

/** Everything about models that is stored, at one version. */
export interface StoredModels {
  version: number;
  defaultModelId?: string;
  aliases: Record<string, string>;
  providers: ModelProviderRow[];
  keys: Map<string, Buffer>;
}

export async function findModelsVersion(sql: Sql): Promise<number> {
  const [row] = await sql<{ version: number }[]>`select version::float8 as version from model_settings`;
  return row?.version ?? 0;
}

/**
 * Reads everything. The version is read first: a change in between is then read again later, because its version is
 * higher.
 */
export async function findStoredModels(sql: Sql): Promise<StoredModels> {
  const [row] = await sql<
    { version: number; default_model_id: string | null; aliases: Record<string, string> }[]
  >`
    select version::float8 as version, default_model_id, aliases from model_settings`;
  const providers = await sql<ModelProviderRow[]>`
    select name, type, settings, models, created_at, updated_at from model_providers order by created_at, name`;
  const keys = await listModelKeys(sql);
  return {
    version: row?.version ?? 0,
    ...(row?.default_model_id ? { defaultModelId: row.default_model_id } : {}),
    aliases: row?.aliases ?? {},
    providers: [...providers],
    keys: new Map(keys.map(({ provider, sealed }) => [provider, sealed])),
  };
}

/** Locks the settings until the transaction ends, so that changes happen one after the other, and counts the change. */
export async function lockModelSettings(tx: Tx): Promise<void> {
  await tx`update model_settings set version = version + 1`;
}

export async function putModelProvider(
  tx: Tx,
  provider: Omit<ModelProviderRow, "created_at" | "updated_at"> & { createdBy: string },
): Promise<void> {
  const { name, type, settings, models, createdBy } = provider;
  await tx`
    insert into model_providers (name, type, settings, models, created_by)
    values (${name}, ${type}, ${json(tx, settings)}, ${json(tx, models)}, ${createdBy})
    on conflict (name) do update set type = excluded.type, settings = excluded.settings, models = excluded.models,
      updated_at = outrider_now()`;
  await tx`delete from model_tests where provider = ${name}`;
}

export async function deleteModelProvider(tx: Tx, name: string): Promise<void> {
  await tx`delete from model_providers where name = ${name}`;
  await tx`delete from model_keys where provider = ${name}`;
  await tx`delete from model_tests where provider = ${name}`;
}

export async function putModelSettings(
  tx: Tx,
  { defaultModelId, aliases }: Pick<StoredModels, "aliases"> & { defaultModelId: string | undefined },
): Promise<void> {
  await tx`update model_settings set default_model_id = ${defaultModelId ?? null}, aliases = ${json(tx, aliases)}`;
}

export async function listModelTests(sql: Sql): Promise<Map<string, ModelTest>> {
  const rows = await sql<{ provider: string; result: ModelTest }[]>`select provider, result from model_tests`;
  return new Map(rows.map(({ provider, result }) => [provider, result]));
}

export async function recordModelTest(sql: Sql, provider: string, test: ModelTest): Promise<void> {
  await sql`
    insert into model_tests (provider, result) values (${provider}, ${json(sql, test)})
    on conflict (provider) do update set result = excluded.result`;
}
