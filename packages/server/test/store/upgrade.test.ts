import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Db, openDb } from "../../src/store/connection/db.ts";
import { migrate, migrateWithin, readMigrations } from "../../src/store/migrate.ts";
import {
  findBreakingChanges,
  previousFunctions,
  previousMigration,
  readSchema,
  type Schema,
} from "../schema.ts";
import { testDatabase } from "../server.ts";

describe("a server of the previous version works with this version's database", () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let db: Db;
  let before: Schema;

  beforeEach(async () => {
    database = await testDatabase();
    db = openDb(database.url, { connections: 1 });
    const previous = (await readMigrations())
      .map(({ number }) => number)
      .filter((number) => number <= previousMigration);
    await db.begin((tx) => migrateWithin(tx, new Set(previous)));
    const schema = await readSchema(db);
    before = { ...schema, functions: new Map([...schema.functions, ...Object.entries(previousFunctions)]) };
  });
  afterEach(async () => {
    await db.end();
    await database.drop();
  });

  test("no migration or function removes or requires anything", async () => {
    expect(before.columns.size).toBeGreaterThan(100);
    expect(before.functions.size).toBeGreaterThan(Object.keys(previousFunctions).length);
    await migrate(db);
    expect(findBreakingChanges(before, await readSchema(db))).toEqual([]);
  });

  test.each([
    ["alter table runs drop column title", "runs.title was removed."],
    ["alter table runs rename column title to heading", "runs.title was removed."],
    ["alter table workers alter column slots type bigint", "workers.slots changed from integer to bigint."],
    ["alter table runs alter column metadata set not null", "runs.metadata is now required."],
    ["alter table runs add column team text not null", "runs.team is new and has no default."],
    [
      "alter table runs add constraint short check (length(title) < 9)",
      /^runs short is a new constraint: CHECK/,
    ],
    ["drop function outrider_now() cascade", "outrider_now() was removed or returns another type."],
    [
      "drop function outrider_settle(uuid, uuid, float8)",
      /^outrider_settle\(.*\) was removed or returns another type\.$/,
    ],
    [
      "alter function outrider_settle(uuid, uuid, float8) rename to outrider_settle_cost",
      /^outrider_settle\(.*\) was removed or returns another type\.$/,
    ],
    [
      "drop function outrider_rate_share(integer, integer); create function outrider_rate_share(p_wanted integer, p_remaining integer) returns bigint language sql as 'select 1::bigint'",
      /^outrider_rate_share\(.*\) was removed or returns another type\.$/,
    ],
    [
      "drop function outrider_rate_share(integer, integer); create function outrider_rate_share(wanted integer, remaining integer) returns integer language sql as 'select 1'",
      /^outrider_rate_share\(.*\) was removed or returns another type\.$/,
    ],
  ])("detects %s", async (sql, found) => {
    await migrate(db);
    await db.unsafe(sql);
    expect(findBreakingChanges(before, await readSchema(db))).toContainEqual(
      typeof found === "string" ? found : expect.stringMatching(found),
    );
  });
});
