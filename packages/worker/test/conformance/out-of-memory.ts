import type { NewEvent } from "@outrider/contract/event";
import { expect, test } from "vitest";
import type { StepLog } from "../../src/builds/step-runner.ts";
import { StepRunner } from "../../src/builds/step-runner.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { runStartCommands } from "../../src/workspace/start-commands.ts";
import { inMs } from "../sandboxes/sandbox-support.ts";
import { describePlace, type Fixture, signal } from "./fixture.ts";
import type { Place } from "./place.ts";

const hog = "head -c 400M /dev/zero | tail > /dev/null; exit 137";
const reached = "process was killed because the sandbox reached its memory limit of 100 MB";
const failure = new RegExp(
  `exited with code 137\\. A ${reached}\\. Raise \`resources\\.memory_mb\`, or use less memory\\.`,
);

/** What users read if the commands of a build or of an environment's start need more memory than their sandbox has. */
export function testOutOfMemory(place: Place): void {
  describePlace("out of memory", place, defineTests);
}

function defineTests(getFixture: () => Fixture): void {
  test("is the reason of a step's failure, and in the log of its build", async () => {
    const sandbox = await getFixture().open({ limits: { memory_mb: 100 } });
    const events: Parameters<StepLog["write"]>[0][] = [];
    const steps = new StepRunner({
      ...{ sandbox, redactor: new Redactor([]), env: {}, onStep: () => {} },
      log: { write: (event) => void events.push(event), signal, deadline: inMs(300_000) },
    });
    await steps.run("true", "true");
    expect(JSON.stringify(events)).not.toContain("killed");
    const place = "Dockerfile line 3";
    await expect(steps.run("hog", hog, { place })).rejects.toThrow(failure);
    expect(events).toContainEqual({
      type: "output",
      data: { stream: "stderr", text: `outrider: a ${reached}.\n` },
    });
    // An earlier lack of memory is not the reason.
    await expect(steps.run("exit 3", "exit 3")).rejects.toThrow(/exited with code 3\.$/);
    await sandbox.close();
  });

  test("is the reason of a start command's failure, and in its output", async () => {
    const sandbox = await getFixture().open({ limits: { memory_mb: 100 } });
    const events: NewEvent[] = [];
    const options = {
      ...{ env: {}, redactor: new Redactor([]), signal },
      emit: async (event: NewEvent) => void events.push(event),
      abandon: (reason: string) => expect.unreachable(reason),
    };
    await expect(runStartCommands(sandbox, { ...options, commands: [hog] })).rejects.toThrow(failure);
    expect(events.at(-1)).toMatchObject({
      data: { state: "failed", output: expect.stringContaining(`outrider: a ${reached}.\n`) },
    });
    await sandbox.close();
  });
}
