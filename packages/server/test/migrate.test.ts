import { expect, test } from "vitest";
import { openDb } from "../src/store/db.ts";
import { migrate } from "../src/store/migrate.ts";
import { testDatabase } from "./server.ts";

test("many servers that start at once apply each migration once", async () => {
  const database = await testDatabase();
  const dbs = Array.from({ length: 8 }, () => openDb(database.url, { connections: 2 }));
  const applied = await Promise.all(dbs.map((db) => migrate(db)));
  expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
  const [db] = dbs as [ReturnType<typeof openDb>];
  const rows = await db`select name from migrations order by number`;
  expect(rows.map(({ name }) => name)).toEqual(applied.flat());
  await Promise.all(dbs.map((one) => one.end()));
  await database.drop();
});

test("a migration that changed after it was applied is refused", async () => {
  const database = await testDatabase();
  const db = openDb(database.url, { connections: 1 });
  await migrate(db);
  await db`update migrations set checksum = 'other' where number = 1`;
  await expect(migrate(db)).rejects.toThrow(/0001_ground_floor\.sql was changed/);
  await db.end();
  await database.drop();
});

test("time comes from one function, which tests can set", async () => {
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
