import { openDb } from "@outrider/server/store/db";
import { beforeAll, expect, test, vi } from "vitest";
import { expectWhole, type Installation, longScript } from "./installation.ts";
import { patience, type Reply } from "./process.ts";
import type { SmallDisk } from "./small-disk.ts";

/** What holds of an installation whose database's disk is full to the last byte, whoever runs that database. */

const STEPS = 20;

/** Done, or put off with a reason. */
function expectDoneOrPutOff({ status, body, text }: Reply) {
  if (status === 503)
    expect(body, text).toMatchObject({ error_code: "resource_unavailable", retryable: true });
  else expect(status, text).toBeLessThan(300);
}

export function survivesFullDisk(
  begin: () => Promise<{ world: Installation; disk: SmallDisk; breakDown(): Promise<void> }>,
) {
  let world: Installation;
  let disk: SmallDisk;
  let breakDown: () => Promise<void>;
  let atWork: string;
  let waiting: string;
  let ended: string;

  beforeAll(async () => {
    ({ world, disk, breakDown } = await begin());
    ended = await world.created(["SAY: done"]);
    await world.ended(ended);
    atWork = await world.created(longScript(STEPS));
    waiting = await world.created(["ASK: anything?"]);
    const isAtWork = async () => (await world.events(atWork)).some(({ type }) => type === "command.finished");
    await vi.waitUntil(isAtWork, patience);
    disk.fill();
  });

  test("new runs are refused, the log and the metrics say so, and what a run at work reports is put off", async () => {
    const refused = await vi.waitUntil(async () => {
      const reply = await world.create(["SAY: too much"]);
      return reply.status === 200 ? undefined : reply;
    }, patience);
    expect([refused.status, refused.body.error_code]).toEqual([503, "resource_unavailable"]);
    await world.server.says("a disk is short of space: no new runs are taken");
    await vi.waitUntil(async () => (await world.putOff("report")) > 0, patience);
    expect((await world.call("GET", "/metrics")).text).toMatch(/^outrider_intake_open 0$/m);
  });

  test("reading, cancelling and deleting go on, or are put off with a reason", async () => {
    expectDoneOrPutOff(await world.call("GET", "/agent/runs"));
    expectDoneOrPutOff(await world.call("GET", `/agent/runs/${ended}/events`));
    expectDoneOrPutOff(await world.call("POST", `/agent/runs/${waiting}/cancel`));
    expectDoneOrPutOff(await world.call("DELETE", `/agent/runs/${ended}`));
  });

  test("a PostgreSQL that cannot write its log any more ends, and everybody is put off", async () => {
    await breakDown();
    const putOff = await vi.waitUntil(async () => {
      const reply = await world.call("GET", "/agent/runs");
      return reply.status === 503 ? reply : undefined;
    }, patience);
    expectDoneOrPutOff(putOff);
    expect((await world.call("GET", "/agent/runs")).body.error_code).toBe("resource_unavailable");
  });

  test("once there is room, all goes on by itself, and nothing is lost or doubled", async () => {
    disk.makeRoom();
    const isTaken = async () => (await world.create(["SAY: welcome"])).status === 200;
    await vi.waitUntil(isTaken, patience);
    expect(await world.ended(atWork)).toMatchObject({ state: "SUCCEEDED" });
    await expectWhole(world, atWork, STEPS);
    await world.server.says("there is room again: new runs are taken");
    expectDoneOrPutOff(await world.call("POST", `/agent/runs/${waiting}/cancel`));
  });
}

/** Its log goes on in a new file, for which there is no room. */
export async function endByFullLog(target: Parameters<typeof openDb>[0]) {
  const db = openDb(target, { connections: 1 });
  for (let isUp = true; isUp; ) {
    isUp = await db`select pg_switch_wal(), pg_logical_emit_message(false, 'filling', 'the log', true)`.then(
      () => true,
      () => false,
    );
  }
  await db.end({ timeout: 0 });
}
