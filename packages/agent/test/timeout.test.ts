import { expect, test } from "vitest";
import { newRun } from "./run.ts";

test("at its time limit, a turn stops the current step, lets the agent send a final message and keeps its results", async () => {
  const run = await newRun("RUN: echo kept", "RUN: sleep 60", "SAY: never reached");
  const time = new AbortController();
  const ended = run.turn({ timeIsUp: time.signal });
  await run.seen(({ type, data }) => type === "command.started" && data.command === "sleep 60");
  time.abort();
  expect(await ended).toMatchObject({ type: "failed", error_code: "timeout" });
  expect(run.all("command.finished")).toHaveLength(2);
  expect(run.all("notice").map(({ code }) => code)).toContain("timeout");
  expect(run.all("command.output")[0]?.text).toContain("kept");
});
