import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { WorkerKeys } from "../../src/api/pipeline/worker-keys.ts";
import { hashKey } from "../../src/engine/auth/keys.ts";
import { findKeyOwners } from "../../src/store/auth/keys.ts";
import { recordStatements } from "../dispatch/record-statements.ts";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

interface CreatedKey {
  key: string;
  key_id: string;
}
const newKey = async (type = "worker"): Promise<CreatedKey> =>
  (await server.call("POST", "/keys", { body: { name: "w", type } })).body;
const hashOf = ({ key }: CreatedKey) => hashKey(key) as Buffer;
const worker = { worker_id: randomUUID(), name: "test", version: "0", slots: 1 };
const beat = async ({ key }: CreatedKey) => {
  const body = { worker: { ...worker, worker_id: randomUUID() }, executions: [] };
  return (await server.call("POST", "/worker/heartbeat", { body, key })).status;
};

describe("a revoked worker key", () => {
  test("is rejected at once by the server that revoked it", async () => {
    const key = await newKey();
    expect(await beat(key)).toBe(200);
    await server.call("DELETE", `/keys/${key.key_id}`);
    expect(await beat(key)).toBe(401);
  });

  test("is rejected soon by a server that was not notified", async () => {
    const key = await newKey();
    expect(await beat(key)).toBe(200);
    await server.db`update keys set revoked_at = now() where key_id = ${key.key_id}`;
    await vi.waitFor(async () => expect(await beat(key)).toBe(401), waitOptions);
  });
});

describe("worker keys", () => {
  const open = () => new WorkerKeys((hashes) => findKeyOwners(server.db, hashes));

  test("are looked up together, and not for each request", async () => {
    const keys = await Promise.all([newKey(), newKey(), newKey()]);
    const workerKeys = open();
    await using statements = recordStatements(server.db);
    const found = await Promise.all([...keys, ...keys].map((key) => workerKeys.findOwner(hashOf(key))));
    expect(found.map((owner) => owner?.key_id)).toEqual([...keys, ...keys].map(({ key_id }) => key_id));
    expect((await workerKeys.findOwner(hashOf(keys[0])))?.key_id).toBe(keys[0].key_id);
    expect(statements.texts).toHaveLength(1);
    // After that, one lookup checks all of them.
    workerKeys.forget();
    for (const key of keys) await workerKeys.findOwner(hashOf(key));
    expect(statements.texts).toHaveLength(2);
  });

  test("that are being looked up are not looked up again", async () => {
    const key = await newKey();
    const started = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    let lookups = 0;
    const workerKeys = new WorkerKeys(async (hashes) => {
      if (++lookups === 2) {
        started.resolve();
        await mayEnd.promise;
      }
      return findKeyOwners(server.db, hashes);
    });
    await workerKeys.findOwner(hashOf(key));
    workerKeys.forget();
    const first = workerKeys.findOwner(hashOf(key));
    await started.promise;
    const second = workerKeys.findOwner(hashOf(key));
    mayEnd.resolve();
    expect((await first)?.key_id).toBe(key.key_id);
    expect(await second).toEqual(await first);
    expect(lookups).toBe(2);
  });

  test("are looked up again if one is revoked during a lookup", async () => {
    const key = await newKey();
    const started = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    const workerKeys = new WorkerKeys(async (hashes) => {
      const owners = await findKeyOwners(server.db, hashes);
      started.resolve();
      await mayEnd.promise;
      return owners;
    });
    const early = workerKeys.findOwner(hashOf(key));
    await started.promise;
    await server.db`update keys set revoked_at = now() where key_id = ${key.key_id}`;
    workerKeys.forget();
    mayEnd.resolve();
    expect((await early)?.key_id).toBe(key.key_id);
    expect(await workerKeys.findOwner(hashOf(key))).toBeUndefined();
  });

  test("are remembered, but not other keys, expired keys or keys that are not valid", async () => {
    const workerKeys = open();
    const personal = await newKey("personal");
    const expired = await newKey();
    await server.db`update keys set expires_at = now() + interval '1 ms' where key_id = ${expired.key_id}`;
    await using statements = recordStatements(server.db);
    for (let count = 1; count <= 2; count++) {
      expect((await workerKeys.findOwner(hashOf(personal)))?.key_id).toBe(personal.key_id);
      expect(statements.texts).toHaveLength(count);
    }
    await vi.waitFor(
      async () => expect(await workerKeys.findOwner(hashOf(expired))).toBeUndefined(),
      waitOptions,
    );
    const unknown = Buffer.alloc(32);
    expect(await workerKeys.findOwner(unknown)).toBeUndefined();
  });
});
