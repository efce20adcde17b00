import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { ActiveWork } from "../../src/active-work.ts";
import { ClaimLoop } from "../../src/claim-loop.ts";
import { FreeSpace } from "../../src/free-space.ts";
import { silentLog } from "../../src/log.ts";
import { connectToServer } from "../../src/server-client/server-client.ts";
import { startTestInstallation, type TestInstallation } from "../installation.ts";
import { startRejectingProxy } from "./rejecting-proxy.ts";

let installation: TestInstallation;
beforeAll(async () => {
  installation = await startTestInstallation();
});
afterAll(() => installation.stop());

test("a worker whose sandboxes are not local takes no runs from a server that does not know kinds", async () => {
  let isOlder = true;
  const claims: { worker: { sandbox?: string }; free: number }[] = [];
  const proxy = await startRejectingProxy(installation.origin, (path, body) => {
    if (!/\/claim$/.test(path)) return undefined;
    claims.push(JSON.parse(body));
    return isOlder && body.includes('"sandbox"')
      ? { status: 400, body: JSON.stringify({ detail: "`/worker/sandbox` is not a known field." }) }
      : undefined;
  });
  const server = connectToServer({ url: proxy.url, key: installation.workerKey });
  const [stopping, stopped] = [new AbortController(), new AbortController()];
  const claimed: string[] = [];
  const loop = new ClaimLoop({
    ...{ server, stopping, stopped: stopped.signal, log: silentLog },
    worker: { worker_id: randomUUID(), name: "containers", version: "1", slots: 2 },
    place: { pool: "default", labels: {}, sandbox: "docker" },
    active: new ActiveWork({ slots: 2, stopping: stopping.signal }),
    freeSpace: new FreeSpace({ folder: "/tmp", minFreeBytes: 0, log: silentLog }),
    startExecutions: (assignments) => void claimed.push(...assignments.map(({ run_id }) => run_id)),
    ...{ startBuild() {}, startShell() {}, onClaim() {}, onAccepted() {} },
  });
  const running = loop.run();
  await vi.waitUntil(() => claims.length > 1, waitOptions);
  expect(claims.slice(0, 2)).toMatchObject([{ worker: { sandbox: "docker" }, free: 2 }, { free: 0 }]);
  expect(claims[1]?.worker).not.toHaveProperty("sandbox");
  isOlder = false;
  const run = await installation.create(["SAY: hello"], { config: { sandbox: "docker" } });
  await vi.waitUntil(() => claimed.length > 0, waitOptions);
  expect(claimed).toEqual([run]);
  stopping.abort();
  await running;
  stopped.abort();
  server.stop();
  proxy.stop();
});
