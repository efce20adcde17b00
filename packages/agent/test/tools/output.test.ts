import { describe, expect, it, onTestFinished, vi } from "vitest";
import { CommandOutput, KEPT_BYTES, truncateMiddle } from "../../src/output.ts";
import type { OutputChunk } from "../../src/workspace.ts";

function recorded() {
  const written: OutputChunk[] = [];
  const output = new CommandOutput(async (chunk) => void written.push(chunk));
  return { written, output, text: () => written.map(({ text }) => text).join("") };
}

describe("the output of a command", () => {
  it("is written in batches", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { written, output, text } = recorded();
    for (let tick = 0; tick < 100; tick += 1) {
      for (let line = 0; line < 10; line += 1) output.push({ stream: "stdout", text: "x" });
      await vi.advanceTimersByTimeAsync(10);
    }
    await output.end();
    expect(text()).toHaveLength(1_000);
    expect(written.length).toBeLessThanOrEqual(11);
    expect(written.length).toBeGreaterThan(5);
  });

  it("keeps its order within a batch", async () => {
    const { written, output } = recorded();
    for (const stream of ["stdout", "stderr", "stderr", "stdout"] as const)
      output.push({ stream, text: `${stream}\n` });
    await output.end();
    expect(written.map(({ text }) => text)).toEqual(["stdout\n", "stderr\nstderr\n", "stdout\n"]);
  });

  it("is written while the command still runs", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { written, output } = recorded();
    output.push({ stream: "stdout", text: "early" });
    await vi.advanceTimersByTimeAsync(100);
    expect(written).toEqual([{ stream: "stdout", text: "early" }]);
  });

  it("is kept completely up to 64 KiB", async () => {
    const { output, text } = recorded();
    const whole = "0123456789abcdef".repeat(4_096);
    for (let at = 0; at < whole.length; at += 1_000)
      output.push({ stream: "stdout", text: whole.slice(at, at + 1_000) });
    expect(await output.end()).toBe(0);
    expect(text()).toBe(whole);
  });

  it.each([1, 7, 1_000, 100_000, 1_000_000])(
    "is shortened to its ends beyond that, in chunks of %i",
    async (size) => {
      const { output, text } = recorded();
      const whole = Array.from({ length: 20_000 }, (_, index) => `${index}\n`).join("");
      for (let at = 0; at < whole.length; at += size)
        output.push({ stream: "stdout", text: whole.slice(at, at + size) });
      const omitted = await output.end();
      expect(omitted).toBe(whole.length - 2 * KEPT_BYTES);
      expect(text()).toBe(
        `${whole.slice(0, KEPT_BYTES)}\n[… ${omitted} bytes omitted …]\n${whole.slice(-KEPT_BYTES)}`,
      );
    },
  );

  it("is never cut inside a character, and every byte is counted", async () => {
    const { output, text } = recorded();
    const whole = `a${"€😀".repeat(20_000)}`;
    output.push({ stream: "stdout", text: whole });
    const omitted = await output.end();
    expect(text()).not.toContain("\ufffd");
    const marker = Buffer.byteLength(`\n[… ${omitted} bytes omitted …]\n`);
    expect(Buffer.byteLength(text()) - marker + omitted).toBe(Buffer.byteLength(whole));
    expect(text()).toBe(truncateMiddle(whole));
  });

  it("marks the omission between its ends, also with two streams", async () => {
    const { written, output } = recorded();
    output.push({ stream: "stdout", text: "a".repeat(40_000) });
    output.push({ stream: "stderr", text: "b".repeat(40_000) });
    output.push({ stream: "stdout", text: "c" });
    const omitted = await output.end();
    expect(written).toEqual([
      { stream: "stdout", text: "a".repeat(KEPT_BYTES) },
      { stream: "stderr", text: `\n[… ${omitted} bytes omitted …]\n${"b".repeat(KEPT_BYTES - 1)}` },
      { stream: "stdout", text: "c" },
    ]);
  });

  it("rejects its end if it could not be written", async () => {
    const output = new CommandOutput(() => Promise.reject(new Error("The lease is lost.")));
    output.push({ stream: "stdout", text: "x" });
    await expect(output.end()).rejects.toThrow("The lease is lost.");
  });
});
