import { randomUUID } from "node:crypto";
import type { NewBuildEvent } from "@outrider/contract/build";
import type { BuildAssignment } from "@outrider/contract/worker/build";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { BuildLog } from "../../src/builds/build-log.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { connectToServer, type ServerClient } from "../../src/server-client/server-client.ts";
import { startProxy, startTestInstallation, type TestInstallation } from "../installation.ts";

let installation: TestInstallation;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let server: ServerClient;

beforeAll(async () => {
  installation = await startTestInstallation();
  proxy = await startProxy(installation.origin);
  server = connectToServer({ url: proxy.url, key: installation.workerKey });
});
afterEach(() => {
  proxy.isLost = () => false;
});
afterAll(async () => {
  server.stop();
  await proxy.stop();
  await installation.stop();
});

const never = new AbortController().signal;
const worker = { worker_id: randomUUID(), name: "test", version: "0", slots: 1 };
const failed = { type: "failed", error_code: "environment_setup_failed", message: "no" } as const;
const output = (text: string): NewBuildEvent => ({ type: "output", data: { stream: "stdout", text } });
const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index));

/** Claims a new build and opens its log. */
async function openLog({ lease_ms, signal = never }: { lease_ms?: number; signal?: AbortSignal } = {}) {
  const body = { name: "site", setup_commands: ["make"] };
  const { environment_id } = (await installation.call("POST", "/agent/environments", { body })).body;
  const path = `/agent/environments/${environment_id}/builds`;
  await installation.call("POST", path);
  const { builds } = await server.claim({ request_id: randomUUID(), worker, free: 1, wait_ms: 0 }, never);
  const assignment = builds[0] as BuildAssignment;
  const deadlines: bigint[] = [];
  const log = new BuildLog({
    server,
    lease: { ...assignment, ...(lease_ms ? { lease_ms } : {}) },
    redactor: new Redactor([]),
    signal,
    onExtended: (deadline) => deadlines.push(deadline),
  });
  const build = `${path}/${assignment.build_id}`;
  return {
    log,
    deadlines,
    build_id: assignment.build_id,
    state: async () => (await installation.call("GET", build)).body.state,
    /** Returns the text of each stored event, in order. */
    async stored(): Promise<string[]> {
      const rows = await installation.db<{ seq: number; text: string }[]>`
        select seq, data ->> 'text' as text from build_events where build_id = ${assignment.build_id} order by seq`;
      expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => index + 1));
      return rows.map(({ text }) => text);
    },
  };
}

describe("a build log", () => {
  test("stores each event once and in order, even if responses are lost", async () => {
    const { log, state, stored } = await openLog();
    let left = 3;
    proxy.lost = 0;
    proxy.isLost = (request) => /\/(report|finish)$/.test(request) && left-- > 0;
    log.write(output("one"));
    await vi.waitUntil(() => proxy.lost === 3, waitOptions);
    log.write(output("two"));
    await log.finish(failed);
    expect(await stored()).toEqual(["one", "two"]);
    expect(await state()).toBe("FAILED");
  });

  test("stores all events before the outcome, in batches of limited size", async () => {
    const { log, stored } = await openLog();
    const large = numbers(12).map((text) => `${text} ${"x".repeat(200 * 1024)}`);
    for (const text of [...numbers(1_200), ...large]) log.write(output(text));
    let requests = 0;
    proxy.isLost = (request) => {
      requests += /\/(report|finish)$/.test(request) ? 1 : 0;
      return false;
    };
    await log.finish(failed);
    expect((await stored()).map((text) => text.split(" ")[0])).toEqual([...numbers(1_200), ...numbers(12)]);
    expect(requests).toBeGreaterThan(5);
  });

  test("renews the lease without events", async () => {
    const { log, deadlines } = await openLog({ lease_ms: 3_000 });
    await vi.waitUntil(() => deadlines.length >= 3, waitOptions);
    expect(log.signal.aborted).toBe(false);
    expect(log.deadline).toBe(deadlines.at(-1));
    await log.finish(failed);
  });
});

describe("a build's lease", () => {
  test("is lost if the server cannot be reached before it expires", async () => {
    proxy.isLost = (request) => request.endsWith("/report");
    const { log } = await openLog({ lease_ms: 600 });
    await vi.waitUntil(() => log.signal.aborted, waitOptions);
    expect(log.signal.reason.message).toBe("The lease expired because the server could not be reached.");
    log.stop();
  });

  test("is lost if the server rejects a report", async () => {
    const { log, build_id } = await openLog({ lease_ms: 3_000 });
    await installation.db`update builds set token = gen_random_uuid() where build_id = ${build_id}`;
    await vi.waitUntil(() => log.signal.aborted, waitOptions);
    expect(log.signal.reason.message).toBe("The build does not belong to this worker.");
    log.stop();
  });

  test("ends with the outcome, even if the build was stopped during a report", async () => {
    const stopping = new AbortController();
    const { log, state } = await openLog({ signal: stopping.signal });
    proxy.isLost = (request) => {
      if (!request.endsWith("/report")) return false;
      stopping.abort();
      return true;
    };
    log.write(output("unfinished"));
    await vi.waitUntil(() => log.signal.aborted, waitOptions);
    await log.finish({ type: "abandoned" });
    expect(await state()).toBe("QUEUED");
  });
});
