import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Db, openDb } from "../../src/store/connection/db.ts";
import { type GroupedWrite, writeGrouped } from "../../src/store/connection/grouped-writes.ts";
import { json } from "../../src/store/connection/json.ts";
import { testDatabase } from "../server.ts";

let database: Awaited<ReturnType<typeof testDatabase>>;
let db: Db;
let other: Db;
let statements: number;

beforeEach(async () => {
  database = await testDatabase();
  db = openDb(database.url, { connections: 8 });
  other = openDb(database.url, { connections: 1 });
  statements = 0;
  await db`create table rows (id uuid primary key, value integer not null check (value >= 0))`;
});

afterEach(async () => {
  await Promise.all([db.end({ timeout: 1 }), other.end({ timeout: 1 })]);
  await database.drop();
});

interface Item {
  id: string;
  value: number;
  kind?: string;
}

/** Adds to a row's value, and returns the new one. */
const additions: GroupedWrite<Item, number> = {
  kindOf: ({ kind = "" }) => kind,
  async write(sql, items, { waits }) {
    statements++;
    const skip = waits ? sql`` : sql`skip locked`;
    const rows = await sql<{ id: string; value: number }[]>`
      with locked as materialized (
        select id from rows where id = any(${items.map(({ id }) => id)}::uuid[]) order by id for update ${skip}),
      item as (select * from jsonb_to_recordset(${json(sql, items)}) as item (id uuid, value integer))
      update rows r set value = r.value + item.value from item join locked using (id) where r.id = item.id
      returning r.id, r.value`;
    const values = new Map(rows.map(({ id, value }) => [id, value]));
    return items.map(({ id }) => values.get(id));
  },
};

const add = (item: Item) => writeGrouped(db, additions, item);

async function insertRows(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (): string => randomUUID());
  await db`insert into rows select id, 0 from unnest(${ids}::uuid[]) id`;
  return ids;
}

async function valuesOf(ids: string[]): Promise<number[]> {
  const rows = await other<{ id: string; value: number }[]>`select id, value from rows`;
  const values = new Map(rows.map(({ id, value }) => [id, value]));
  return ids.map((id) => values.get(id) as number);
}

test("items that arrive together are written in one statement, and each caller gets its own result", async () => {
  const ids = await insertRows(40);
  const results = await Promise.all(ids.map((id, value) => add({ id, value })));
  expect(results).toEqual(ids.map((_, index) => index));
  expect(statements).toBe(1);
});

test("items of different kinds are written by different statements", async () => {
  const ids = await insertRows(12);
  const kinds = ["one", "two", "three"];
  const written = await Promise.all(
    ids.map((id, index) => add({ id, value: index, kind: kinds[index % 3] as string })),
  );
  expect(written).toEqual(ids.map((_, index) => index));
  expect(statements).toBe(3);
});

test("callers that send one item after another share a statement, and do not wait for one that stays away", async () => {
  const groups: string[][] = [];
  const started = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const recorded: GroupedWrite<string, string> = {
    async write(_sql, items) {
      groups.push(items);
      started.resolve();
      if (groups.length === 1) await gate.promise;
      return items;
    },
  };
  const write = (item: string) => writeGrouped(db, recorded, item);
  const first = write("first").then(() => write("first again"));
  await started.promise;
  const second = write("second");
  gate.resolve();
  await Promise.all([first, second]);
  expect(groups).toEqual([["first"], ["second", "first again"]]);
  // The previous group had two callers. One alone is written all the same.
  expect(await write("second again")).toBe("second again");
});

test("an item that fails does not affect the others of its group", async () => {
  const ids = await insertRows(20);
  const results = await Promise.allSettled(
    ids.map((id, index) => add({ id, value: index === 10 ? -1 : index })),
  );
  expect(results.flatMap(({ status }, index) => (status === "rejected" ? [index] : []))).toEqual([10]);
  expect(await valuesOf(ids)).toEqual(ids.map((_, index) => (index === 10 ? 0 : index)));
});

test("a locked item holds up neither its group nor the next one", async () => {
  const ids = await insertRows(12);
  const locked = ids[3] as string;
  let waiting: Promise<number> | undefined;
  await other.begin(async (tx) => {
    await tx`select 1 from rows where id = ${locked} for update`;
    const writes = new Map(ids.map((id) => [id, add({ id, value: 1 })]));
    waiting = writes.get(locked);
    writes.delete(locked);
    await Promise.all(writes.values());
    await Promise.all([...writes.keys()].map((id) => add({ id, value: 1 })));
  });
  expect(await waiting).toBe(1);
  expect(await valuesOf(ids)).toEqual(ids.map((id) => (id === locked ? 1 : 2)));
});

test("in a transaction, an item is part of it", async () => {
  const ids = await insertRows(1);
  const failed = db.begin(async (tx) => {
    await writeGrouped(tx, additions, { id: ids[0] as string, value: 1 });
    throw new Error("rolled back");
  });
  await expect(failed).rejects.toThrow("rolled back");
  expect(await valuesOf(ids)).toEqual([0]);
});

test("if the connection is lost, all callers of the group get the error", async () => {
  const lost: GroupedWrite<number, number> = {
    async write(sql, items) {
      await sql`select pg_terminate_backend(pg_backend_pid())`;
      return items;
    },
  };
  const results = await Promise.allSettled([1, 2, 3, 4].map((item) => writeGrouped(db, lost, item)));
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected", "rejected"]);
});
