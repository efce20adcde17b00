import { afterAll, beforeAll, expect, test } from "vitest";
import { outputOf, startTestInstallation, type TestInstallation } from "../installation.ts";

let installation: TestInstallation;
beforeAll(async () => {
  installation = await startTestInstallation();
});
afterAll(() => installation.stop());

const file = (file_name: string, text: string) => ({
  file_name,
  mime_type: "text/plain",
  data: Buffer.from(text).toString("base64"),
});
const show = 'RUN: cd ~/attachments && for f in *; do echo "$f: $(cat "$f")"; done';

test("attachments are in the sandbox before the first step and are not part of the diff", async () => {
  const worker = await installation.worker();
  const attachments = [file("a.txt", "one"), file("a.txt", "two"), file("with space & 'quote'.txt", "three")];
  const run = await installation.create([show, "RUN: echo four >> ~/attachments/a.txt; echo mine > kept"], {
    attachments,
  });
  await installation.until(run, "SUCCEEDED");
  expect(outputOf(await installation.events(run))).toBe(
    "a-2.txt: two\na.txt: one\nwith space & 'quote'.txt: three\n",
  );
  expect((await installation.call("GET", `/agent/runs/${run}/diff`)).text).not.toContain("attachments");

  // The warm sandbox still contains what the agent changed.
  await installation.followUp(run, ["RUN: cat ~/attachments/a.txt ~/attachments/b.txt"], {
    attachments: [file("b.txt", "five")],
  });
  await installation.until(run, "SUCCEEDED");
  expect(outputOf(await installation.events(run))).toMatch(/onefour\nfive$/);
  await worker.drain();
});

test("attachments of a follow-up are copied before the agent sees the message", async () => {
  const worker = await installation.worker();
  const run = await installation.create([
    "RUN: until [ -e ~/attachments/late.txt ]; do sleep 0.05; done",
    "SLEEP: 1",
  ]);
  await installation.event(run, ({ type }) => type === "command.started");
  await installation.followUp(run, ["RUN: cat ~/attachments/late.txt"], {
    mode: "interrupt",
    attachments: [file("late.txt", "late")],
  });
  await installation.until(run, "SUCCEEDED");
  expect(outputOf(await installation.events(run))).toContain("late");
  await worker.drain();
});

test("attachments are copied again into a new sandbox", async () => {
  const worker = await installation.worker();
  const config = { idle_timeout_minutes: 0 };
  const run = await installation.create(["SAY: seen"], { config, attachments: [file("a.txt", "one")] });
  await installation.until(run, "SUCCEEDED");
  await installation.followUp(run, [show], { attachments: [file("a.txt", "two")] });
  await installation.until(run, "SUCCEEDED");
  expect(outputOf(await installation.events(run))).toBe("a-2.txt: two\na.txt: one\n");
  await worker.drain();
});

test("attachments are copied again after a worker is killed", async () => {
  const other = await startTestInstallation();
  try {
    const first = await other.workerProcess("first");
    const run = await other.create(["RUN: cat ~/attachments/a.txt; sleep 600"], {
      attachments: [file("a.txt", "one")],
    });
    await other.event(run, ({ type }) => type === "command.output");
    process.kill(first.pid, "SIGKILL");
    await first.ended;
    await other.expireLease(run);
    await other.workerProcess("second");
    const recovered = await other.event(
      run,
      ({ type, attempt }) => type === "command.output" && attempt === 2,
    );
    expect(recovered.data.text).toBe("one");
  } finally {
    await other.stop();
  }
});
