import { openDb } from "@outrider/server/store/connection/db";
import { beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import type { Reply } from "../process.ts";
import { expectCompleteRun, type Installation, longScript } from "./installation.ts";
import type { SmallDisk } from "./small-disk.ts";

/** Tests an installation whose database has a completely full disk, for an embedded and for an external database. */

const STEPS = 20;

/** Expects success, or a retryable 503 with an error code. */
function expectSuccessOrUnavailable({ status, body, text }: Reply) {
  if (status === 503)
    expect(body, text).toMatchObject({ error_code: "resource_unavailable", retryable: true });
  else expect(status, text).toBeLessThan(300);
}

export function testFullDisk(
  start: () => Promise<{ installation: Installation; disk: SmallDisk; crashDatabase(): Promise<void> }>,
) {
  let installation: Installation;
  let disk: SmallDisk;
  let crashDatabase: () => Promise<void>;
  let activeRun: string;
  let blockedRun: string;
  let endedRun: string;

  beforeAll(async () => {
    ({ installation, disk, crashDatabase } = await start());
    endedRun = await installation.createRun(["SAY: done"]);
    await installation.waitForEnd(endedRun);
    activeRun = await installation.createRun(longScript(STEPS));
    blockedRun = await installation.createRun(["ASK: anything?"]);
    const isRunning = async () =>
      (await installation.events(activeRun)).some(({ type }) => type === "command.finished");
    await vi.waitUntil(isRunning, waitOptions);
    disk.fill();
  });

  test("rejects new runs, shows so in log and metrics, and defers the reports of active runs", async () => {
    const rejected = await vi.waitUntil(async () => {
      const reply = await installation.tryCreateRun(["SAY: too much"]);
      return reply.status === 200 ? undefined : reply;
    }, waitOptions);
    expect([rejected.status, rejected.body.error_code]).toEqual([503, "resource_unavailable"]);
    await installation.server.waitForOutput("low disk space, rejecting new runs");
    await vi.waitUntil(async () => (await installation.countUnavailable("report")) > 0, waitOptions);
    expect((await installation.call("GET", "/metrics")).text).toMatch(/^outrider_admission_open 0$/m);
  });

  test("still serves reads, cancels and deletes, or answers 503 with an error code", async () => {
    expectSuccessOrUnavailable(await installation.call("GET", "/agent/runs"));
    expectSuccessOrUnavailable(await installation.call("GET", `/agent/runs/${endedRun}/events`));
    expectSuccessOrUnavailable(await installation.call("POST", `/agent/runs/${blockedRun}/cancel`));
    expectSuccessOrUnavailable(await installation.call("DELETE", `/agent/runs/${endedRun}`));
  });

  test("answers 503 when PostgreSQL crashes because it cannot write its WAL", async () => {
    await crashDatabase();
    const unavailable = await vi.waitUntil(async () => {
      const reply = await installation.call("GET", "/agent/runs");
      return reply.status === 503 ? reply : undefined;
    }, waitOptions);
    expectSuccessOrUnavailable(unavailable);
    expect((await installation.call("GET", "/agent/runs")).body.error_code).toBe("resource_unavailable");
  });

  test("recovers once there is space, without lost or duplicate data", async () => {
    disk.freeSpace();
    const isAccepted = async () => (await installation.tryCreateRun(["SAY: welcome"])).status === 200;
    await vi.waitUntil(isAccepted, waitOptions);
    expect(await installation.waitForEnd(activeRun)).toMatchObject({ state: "SUCCEEDED" });
    await expectCompleteRun(installation, activeRun, STEPS);
    await installation.server.waitForOutput("disk space recovered, accepting new runs");
    expectSuccessOrUnavailable(await installation.call("POST", `/agent/runs/${blockedRun}/cancel`));
  });
}

/** Crashes PostgreSQL on a full disk by switching to a new WAL file, for which there is no space. */
export async function crashByFullWal(target: Parameters<typeof openDb>[0]) {
  const db = openDb(target, { connections: 1 });
  for (let isUp = true; isUp; ) {
    isUp = await db`select pg_switch_wal(), pg_logical_emit_message(false, 'filling', 'the log', true)`.then(
      () => true,
      () => false,
    );
  }
  await db.end({ timeout: 0 });
}
