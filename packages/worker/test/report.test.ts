import { randomUUID } from "node:crypto";
import type { NewEvent } from "@outrider/contract/event";
import type { Assignment } from "@outrider/contract/worker";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Redactor } from "../src/redact.ts";
import { Reporter } from "../src/report.ts";
import { connect, LeaseLostError, type Server } from "../src/server.ts";
import { startProxy, startWorld, type World } from "./world.ts";

let world: World;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let server: Server;

beforeAll(async () => {
  world = await startWorld();
  proxy = await startProxy(world.origin);
  server = connect({ url: proxy.url, key: world.workerKey });
});
afterAll(async () => {
  server.stop();
  await proxy.stop();
  await world.stop();
});

const never = new AbortController().signal;
const worker = { worker_id: randomUUID(), name: "test", version: "0", slots: 1 };

/** A run that waits for nobody but this reporter. */
async function reporting({ secrets = [] as string[] } = {}) {
  const run = await world.create(["SAY: hello"]);
  const { executions } = await server.claim({ request_id: randomUUID(), worker, free: 1, wait_ms: 0 }, never);
  const assignment = executions[0] as Assignment;
  expect(assignment.run_id).toBe(run);
  return {
    run,
    reporter: new Reporter({ server, assignment, redactor: new Redactor(secrets), signal: never }),
  };
}

const says = (text: string): NewEvent => ({ type: "message.agent", data: { text } });
const begins = (command: string): NewEvent => ({
  type: "command.started",
  data: { command_id: "call-1", command },
});
const said = async (run: string) =>
  (await world.events(run)).filter(({ type }) => type === "message.agent").map(({ data }) => data.text);
const batchesOf = async (run: string) =>
  (await world.db`select report_batch from run_heads where run_id = ${run}`)[0]?.report_batch as number;
const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index));
const done = { type: "succeeded", text: "done" } as const;

/** Loses the answers to the next requests of a kind. */
function loseAnswers(kind: string, count: number) {
  let left = count;
  proxy.lost = 0;
  proxy.isLost = (request) => request.endsWith(`/${kind}`) && left-- > 0;
}

describe("a reporter", () => {
  test("writes events in the order in which they were told, without gaps", async () => {
    const { run, reporter } = await reporting();
    await Promise.all(numbers(50).map((text) => reporter.emit(says(text))));
    await reporter.flush();
    expect(await said(run)).toEqual(numbers(50));
    expect((await world.events(run)).map(({ seq }) => seq)).toEqual(
      numbers(52).map((text) => Number(text) + 1),
    );
    expect(reporter.lastSeq).toBe(52);
  });

  test("writes what nobody waits for, soon and by itself", async () => {
    const { run, reporter } = await reporting();
    await reporter.emit(says("soon"));
    await world.event(run, ({ type }) => type === "message.agent");
  });

  test("has the start of a command in the log before the command begins", async () => {
    const { run, reporter } = await reporting();
    await reporter.emit(says("first"));
    await reporter.emit(begins("true"));
    expect((await world.events(run)).slice(2).map(({ type }) => type)).toEqual([
      "message.agent",
      "command.started",
    ]);
  });

  test("tells the receipt with what it tells next, be that the end, or soon by itself", async () => {
    const receipt = {
      worker: "test",
      harness_version: "0",
      model_id: "scripted",
      network: { mode: "none" as const },
    };
    const [first, last, alone] = [await reporting(), await reporting(), await reporting()];
    for (const { reporter } of [first, last, alone]) reporter.keepReceipt(receipt);
    await first.reporter.emit(begins("true"));
    await last.reporter.finish(done);
    await vi.waitUntil(async () => (await world.get(alone.run)).receipt, { timeout: 5_000 });
    for (const { run } of [first, last, alone]) {
      expect((await world.get(run)).receipt).toMatchObject(receipt);
      expect(await batchesOf(run)).toBe(1);
    }
  });

  test("takes secrets out of all that it tells, the end included", async () => {
    const { run, reporter } = await reporting({ secrets: ["open-sesame"] });
    await reporter.emit(says("it is open-sesame"));
    await reporter.emit(begins(`echo ${Buffer.from("open-sesame").toString("base64")}`));
    await reporter.finish({ type: "succeeded", text: "open-sesame it was" });
    const events = await world.events(run);
    expect(JSON.stringify(events)).not.toMatch(/open-sesame|b3Blbi1zZXNhbW/);
    expect(events.at(-1)?.data).toEqual({ text: "*** it was" });
  });
});

describe("what one batch cannot hold", () => {
  const large = numbers(12).map((text) => `${text} ${"x".repeat(200 * 1024)}`);

  test("is all in the log when the start of a command behind it is", async () => {
    const { run, reporter } = await reporting();
    await Promise.all(large.map((text) => reporter.emit(says(text))));
    await reporter.emit(begins("true"));
    expect((await said(run)).map((text) => text.split(" ")[0])).toEqual(numbers(12));
    expect((await world.events(run)).at(-1)?.type).toBe("command.started");
    expect(await batchesOf(run)).toBeGreaterThan(5);
  });

  test("is all in the log before the end", async () => {
    const { run, reporter } = await reporting();
    for (const text of numbers(1_200)) void reporter.emit(says(text));
    void Promise.all(large.map((text) => reporter.emit(says(text))));
    await reporter.finish(done);
    const [, , ...own] = await world.events(run);
    expect(own).toHaveLength(998);
    const all =
      await world.db`select data ->> 'text' as text from events where run_id = ${run} and seq > 2 order by seq`;
    expect(all.map(({ text }) => text.split(" ")[0])).toEqual([...numbers(1_200), ...numbers(12), "done"]);
  });
});

describe("an answer that is lost", () => {
  test("doubles no event", async () => {
    const { run, reporter } = await reporting();
    loseAnswers("report", 3);
    await reporter.emit(says("one"));
    await reporter.flush();
    await reporter.emit(says("two"));
    await reporter.flush();
    expect(proxy.lost).toBe(3);
    expect(await said(run)).toEqual(["one", "two"]);
    expect(reporter.lastSeq).toBe(4);
  });

  test("does not swallow the follow-ups that it brought, nor deliver them twice", async () => {
    const { run, reporter } = await reporting();
    await world.followUp(run, ["SAY: more"]);
    reporter.waiting = true;
    loseAnswers("report", 1);
    expect(await reporter.takeFollowups()).toMatchObject([{ message: "SAY: more", mode: "auto", seq: 3 }]);
    reporter.waiting = true;
    expect(await reporter.takeFollowups()).toEqual([]);
    expect((await world.events(run)).filter(({ type }) => type === "message.user")).toHaveLength(1);
    expect(proxy.lost).toBe(1);
  });

  test("ends a run once", async () => {
    const { run, reporter } = await reporting();
    loseAnswers("finish", 2);
    await reporter.emit(says("last words"));
    expect(await reporter.finish(done)).toEqual({ ended: true, followups: [] });
    expect(proxy.lost).toBe(2);
    expect((await world.events(run)).slice(2).map(({ type }) => type)).toEqual([
      "message.agent",
      "run.succeeded",
    ]);
  });
});

describe("a run that is somebody else's by now", () => {
  test("is not written to any more", async () => {
    const { run, reporter } = await reporting();
    await world.call("POST", `/agent/runs/${run}/cancel`);
    await reporter.emit(says("too late"));
    await expect(reporter.flush()).rejects.toThrow(LeaseLostError);
    await expect(reporter.emit(says("even later"))).rejects.toThrow(LeaseLostError);
    await expect(reporter.takeFollowups().then(() => reporter.flush())).rejects.toThrow(LeaseLostError);
    await expect(reporter.finish(done)).rejects.toThrow(LeaseLostError);
    expect((await world.events(run)).at(-1)?.type).toBe("run.cancelled");
  });
});
