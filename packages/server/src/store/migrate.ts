import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type { Db, Sql, Tx } from "./connection/db.ts";

const folder = new URL("./migrations/", import.meta.url);
const functionsFolder = new URL("./functions/", import.meta.url);

/** An arbitrary advisory lock key that other applications are unlikely to use. */
const LOCK = 7_286_011_432;

/** A migration as recorded in the database. */
export interface AppliedMigration {
  number: number;
  name: string;
  checksum: string;
}

interface Migration extends AppliedMigration {
  sql: string;
}

export async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, folder), "utf8");
      const checksum = createHash("sha256").update(sql).digest("hex");
      return { number: Number(name.slice(0, 4)), name, sql, checksum };
    }),
  );
}

/**
 * Returns the migrations that have not been applied to the database, and the applied ones that this version does not
 * include.
 */
export async function compareMigrations(db: Db): Promise<{ missing: string[]; unknown: string[] }> {
  const migrations = await readMigrations();
  const [{ tableExists } = { tableExists: false }] = await db<{ tableExists: boolean }[]>`
    select to_regclass('migrations') is not null as "tableExists"`;
  const applied = tableExists
    ? await db<{ number: number; name: string }[]>`select number, name from migrations`
    : [];
  const known = new Set(migrations.map(({ number }) => number));
  const done = new Set(applied.map(({ number }) => number));
  return {
    missing: migrations.filter(({ number }) => !done.has(number)).map(({ name }) => name),
    unknown: applied.filter(({ number }) => !known.has(number)).map(({ name }) => name),
  };
}

/**
 * Applies all missing migrations and returns their names. If several servers start at once, one migrates and the others
 * wait.
 */
export async function migrate(db: Db): Promise<string[]> {
  return db.begin((tx) => migrateWithin(tx));
}

/** Acquires the lock that serializes schema changes. The lock is held until the transaction ends. */
export async function lockMigrations(tx: Tx): Promise<void> {
  await tx`set local lock_timeout = 0`;
  await tx`select pg_advisory_xact_lock(${LOCK})`;
}

/** Applies all of this version's migrations and SQL functions, or only the migrations with the given numbers. */
export async function migrateWithin(tx: Tx, only?: ReadonlySet<number>): Promise<string[]> {
  const migrations = await readMigrations();
  await lockMigrations(tx);
  await tx`
    create table if not exists migrations (
      number integer primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default clock_timestamp()
    )`;
  const applied = new Map((await listApplied(tx)).map(({ number, checksum }) => [number, checksum]));
  const newlyApplied: string[] = [];
  for (const { number, name, sql, checksum } of migrations) {
    const appliedChecksum = applied.get(number);
    if (appliedChecksum !== undefined && appliedChecksum !== checksum) {
      throw new Error(`Migration ${name} differs from the one that was applied to this database.`);
    }
    if (appliedChecksum !== undefined || only?.has(number) === false) continue;
    await tx.unsafe(sql);
    await tx`insert into migrations (number, name, checksum) values (${number}, ${name}, ${checksum})`;
    newlyApplied.push(name);
  }
  const known = new Set(migrations.map(({ number }) => number));
  const knowsAllApplied = [...applied.keys()].every((number) => known.has(number));
  if (knowsAllApplied && only === undefined) await createFunctions(tx);
  return newlyApplied;
}

/**
 * Replaces the SQL functions with those in store/functions. Only a server that has every applied migration does this,
 * so an older server never restores an older function body. A function's name, arguments and results must never change,
 * because servers running two versions may call it at the same time; a different signature needs a new name. PostgreSQL
 * also refuses to rename an existing function's parameters.
 */
async function createFunctions(tx: Tx): Promise<void> {
  const names = (await readdir(functionsFolder)).filter((name) => name.endsWith(".sql")).sort();
  // Functions call each other, so their bodies cannot be checked until all of them exist.
  await tx`set local check_function_bodies = off`;
  for (const name of names) await tx.unsafe(await readFile(new URL(name, functionsFolder), "utf8"));
}

export async function listApplied(sql: Sql): Promise<AppliedMigration[]> {
  return sql<AppliedMigration[]>`select number, name, checksum from migrations order by number`;
}
