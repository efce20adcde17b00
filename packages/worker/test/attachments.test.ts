import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Event, startWorld, type World } from "./world.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.stop());

const file = (file_name: string, text: string) => ({
  file_name,
  mime_type: "text/plain",
  data: Buffer.from(text).toString("base64"),
});
const outputOf = (events: Event[]) =>
  events
    .filter(({ type }) => type === "command.output")
    .map(({ data }) => data.text)
    .join("");
const show = 'RUN: cd ~/attachments && for f in *; do echo "$f: $(cat "$f")"; done';

test("attachments lie in the sandbox before the first step, and are no change of the run's", async () => {
  const worker = await world.worker();
  const attachments = [file("a.txt", "one"), file("a.txt", "two"), file("with space & 'quote'.txt", "three")];
  const run = await world.create([show, "RUN: echo four >> ~/attachments/a.txt; echo mine > kept"], {
    attachments,
  });
  await world.until(run, "SUCCEEDED");
  expect(outputOf(await world.events(run))).toBe(
    "a-2.txt: two\na.txt: one\nwith space & 'quote'.txt: three\n",
  );
  expect((await world.call("GET", `/agent/runs/${run}/diff`)).text).not.toContain("attachments");

  // The sandbox was kept, and what the agent did to a file with it.
  await world.followUp(run, ["RUN: cat ~/attachments/a.txt ~/attachments/b.txt"], {
    attachments: [file("b.txt", "five")],
  });
  await world.until(run, "SUCCEEDED");
  expect(outputOf(await world.events(run))).toMatch(/onefour\nfive$/);
  await worker.drain();
});

test("attachments of a follow-up come to a run at work before the agent reads of them", async () => {
  const worker = await world.worker();
  const run = await world.create([
    "RUN: until [ -e ~/attachments/late.txt ]; do sleep 0.05; done",
    "SLEEP: 1",
  ]);
  await world.event(run, ({ type }) => type === "command.started");
  await world.followUp(run, ["RUN: cat ~/attachments/late.txt"], {
    mode: "interrupt",
    attachments: [file("late.txt", "late")],
  });
  await world.until(run, "SUCCEEDED");
  expect(outputOf(await world.events(run))).toContain("late");
  await worker.drain();
});

test("attachments are there again after the sandbox is gone", async () => {
  const worker = await world.worker();
  const config = { idle_timeout_minutes: 0 };
  const run = await world.create(["SAY: seen"], { config, attachments: [file("a.txt", "one")] });
  await world.until(run, "SUCCEEDED");
  await world.followUp(run, [show], { attachments: [file("a.txt", "two")] });
  await world.until(run, "SUCCEEDED");
  expect(outputOf(await world.events(run))).toBe("a-2.txt: two\na.txt: one\n");
  await worker.drain();
});

test("attachments are there again for the worker that takes over from one that was killed", async () => {
  const short = await startWorld({ OUTRIDER_LEASE_SECONDS: "2", OUTRIDER_LEASE_GRACE_SECONDS: "1" });
  try {
    const first = await short.workerProcess("first");
    const run = await short.create(["RUN: cat ~/attachments/a.txt; sleep 600"], {
      attachments: [file("a.txt", "one")],
    });
    await short.event(run, ({ type }) => type === "command.output");
    process.kill(first.pid, "SIGKILL");
    await short.workerProcess("second");
    const recovered = await short.event(
      run,
      ({ type, attempt }) => type === "command.output" && attempt === 2,
    );
    expect(recovered.data.text).toBe("one");
  } finally {
    await short.stop();
  }
});
