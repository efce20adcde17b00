import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type { Db, Sql, Tx } from "./db.ts";

const folder = new URL("./migrations/", import.meta.url);

/** Any number that no other user of the database is likely to lock. */
const LOCK = 7_286_011_432;

/** A migration as a database remembers it. */
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

/** Which migrations of this version the database lacks, and which of its own this version does not know. */
export async function compareMigrations(db: Db): Promise<{ missing: string[]; unknown: string[] }> {
  const migrations = await readMigrations();
  const [{ isThere } = { isThere: false }] = await db<{ isThere: boolean }[]>`
    select to_regclass('migrations') is not null as "isThere"`;
  const applied = isThere
    ? await db<{ number: number; name: string }[]>`select number, name from migrations`
    : [];
  const known = new Set(migrations.map(({ number }) => number));
  const done = new Set(applied.map(({ number }) => number));
  return {
    missing: migrations.filter(({ number }) => !done.has(number)).map(({ name }) => name),
    unknown: applied.filter(({ number }) => !known.has(number)).map(({ name }) => name),
  };
}

/** Brings the database up to date. Many servers may start at once: one works, the others wait for it. */
export async function migrate(db: Db): Promise<string[]> {
  return db.begin((tx) => migrateWithin(tx));
}

/** Who holds this is alone in changing what the database consists of, until the transaction ends. */
export async function lockMigrations(tx: Tx): Promise<void> {
  await tx`set local lock_timeout = 0`;
  await tx`select pg_advisory_xact_lock(${LOCK})`;
}

/** All migrations that this version has, or only some of them. */
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
  const done: string[] = [];
  for (const { number, name, sql, checksum } of migrations) {
    const before = applied.get(number);
    if (before !== undefined && before !== checksum) {
      throw new Error(`Migration ${name} was changed after it had been applied to this database.`);
    }
    if (before !== undefined || only?.has(number) === false) continue;
    await tx.unsafe(sql);
    await tx`insert into migrations (number, name, checksum) values (${number}, ${name}, ${checksum})`;
    done.push(name);
  }
  return done;
}

export async function listApplied(sql: Sql): Promise<AppliedMigration[]> {
  return sql<AppliedMigration[]>`select number, name, checksum from migrations order by number`;
}
