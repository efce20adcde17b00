import { expect, test } from "vitest";
import { openDb } from "../../src/store/connection/db.ts";
import { migrate } from "../../src/store/migrate.ts";
import { testDatabase } from "../server.ts";

test("servers that start at the same time apply each migration once", async () => {
  const database = await testDatabase();
  const dbs = Array.from({ length: 8 }, () => openDb(database.url, { connections: 2 }));
  const applied = await Promise.all(dbs.map((db) => migrate(db)));
  expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
  const [db] = dbs as [ReturnType<typeof openDb>];
  const rows = await db`select name from migrations order by number`;
  expect(rows.map(({ name }) => name)).toEqual(applied.flat());
  await Promise.all(dbs.map((each) => each.end()));
  await database.drop();
});

test("rejects a migration that changed after it was applied", async () => {
  const database = await testDatabase();
  const db = openDb(database.url, { connections: 1 });
  await migrate(db);
  await db`update migrations set checksum = 'other' where number = 1`;
  await expect(migrate(db)).rejects.toThrow(/0001_ground_floor\.sql differs/);
  await db.end();
  await database.drop();
});

test("the clock is one function, which tests can set", async () => {
  const database = await testDatabase();
  const db = openDb(database.url, { connections: 1 });
  await migrate(db);
  const [row] = await db.begin(async (tx) => {
    await tx`select set_config('outrider.now', '2030-01-02T03:04:05.678Z', true)`;
    return tx`select outrider_now() as now`;
  });
  expect(row?.now).toBe("2030-01-02T03:04:05.678Z");
  await db.end();
  await database.drop();
});

test("a server replaces the SQL functions only if it knows every applied migration", async () => {
  const database = await testDatabase();
  const db = openDb(database.url, { connections: 1 });
  await migrate(db);
  const share = async () => (await db`select outrider_rate_share(5, 80) as share`)[0]?.share;
  expect(await share()).toBe(5);
  await db`
    create or replace function outrider_rate_share(p_wanted integer, p_remaining integer) returns integer
    language sql immutable as 'select -1'`;
  await db`insert into migrations (number, name, checksum) values (9999, '9999_of_a_newer_version.sql', 'unknown')`;

  await migrate(db);
  expect(await share()).toBe(-1);

  await db`delete from migrations where number = 9999`;
  await migrate(db);
  expect(await share()).toBe(5);
  await db.end();
  await database.drop();
});
