import { readdirSync, readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Db, openDb } from "../src/store/db.ts";
import { breaks, previousMigration, readSchema, type Schema } from "./schema.ts";
import { testDatabase } from "./server.ts";

const folder = new URL("../src/store/migrations/", import.meta.url);
const migrations = readdirSync(folder)
  .sort()
  .map((name) => ({
    number: Number(name.slice(0, 4)),
    sql: readFileSync(new URL(name, folder), "utf8"),
  }));

describe("the version before works with the database of this one", () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let db: Db;
  let before: Schema;

  beforeEach(async () => {
    database = await testDatabase();
    db = openDb(database.url, { connections: 1 });
    for (const { number, sql } of migrations) if (number <= previousMigration) await db.unsafe(sql);
    before = await readSchema(db);
  });
  afterEach(async () => {
    await db.end();
    await database.drop();
  });

  test("no migration takes away or demands what it does not know", async () => {
    expect(before.columns.size).toBeGreaterThan(100);
    expect(before.functions.size).toBeGreaterThan(3);
    for (const { number, sql } of migrations) if (number > previousMigration) await db.unsafe(sql);
    expect(breaks(before, await readSchema(db))).toEqual([]);
  });

  test.each([
    ["alter table runs drop column title", "runs.title is gone."],
    ["alter table runs rename column title to heading", "runs.title is gone."],
    ["alter table workers alter column slots type bigint", "workers.slots was integer and is bigint."],
    ["alter table runs alter column metadata set not null", "runs.metadata must be given now."],
    ["alter table runs add column team text not null", "runs.team is new and has no default."],
    ["alter table runs add constraint short check (length(title) < 9)", /^runs short is a new rule: CHECK/],
    ["drop function outrider_now() cascade", "outrider_now() is gone or answers something else."],
  ])("%s would be found", async (sql, found) => {
    await db.unsafe(sql);
    expect(breaks(before, await readSchema(db))).toContainEqual(
      typeof found === "string" ? found : expect.stringMatching(found),
    );
  });
});
