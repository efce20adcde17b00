import { expect, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { type Event, outputOf } from "../installation.ts";
import type { FaultyInstallation, InterruptedRun } from "./faulty-installation.ts";

/** Waits until another attempt runs the interrupted command. The command of the previous one must not outlive its lease. */
export async function waitForNextAttempt(
  installation: FaultyInstallation,
  { id, command, sleeps }: InterruptedRun,
): Promise<void> {
  const isNext = ({ type, attempt, turn, data }: Event) =>
    type === "command.started" && turn === 2 && attempt > 1 && data.command.includes(command);
  const started = await installation.event(id, isNext);
  const isRecovering = ({ type, turn }: Event) => type === "run.recovering" && turn === 2;
  const recovering = await installation.event(id, isRecovering);
  await sleeps.waitUntilRunning();
  const [leaseEnd, nextStart] = [recovering, started].map(({ created_at }) => Date.parse(created_at));
  expect(sleeps.wasAliveBetween(leaseEnd as number, nextStart as number)).toBe(false);
}

/** Ends the command of the last attempt, and checks what the faults must not have broken. */
export async function expectRecovery(
  installation: FaultyInstallation,
  { id, sleeps }: InterruptedRun,
): Promise<void> {
  await installation.followUp(id, ["RUN: cat file"], { mode: "interrupt" });
  await installation.until(id, "SUCCEEDED");
  const events = await installation.events(id);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  // An attempt writes nothing after the next one has started.
  const attempts = events.map(({ turn, attempt }) => turn * 1_000 + attempt);
  expect(attempts).toEqual(attempts.toSorted((a, b) => a - b));
  // The file of the first turn, read before the fault, in the next attempt and after it.
  expect(outputOf(events)).toBe("stored\nstored\nstored\n");
  expect(sleeps.max).toBe(1);
  await sleeps.waitUntilGone();
  await vi.waitFor(async () => expect(await installation.engine.objectsOf(id)).toEqual([]), waitOptions);
}
