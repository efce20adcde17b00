import type { NewEvent } from "@outrider/contract/event";
import type { RunEvent } from "@outrider/sdk";
import { describe, expect, test } from "vitest";
import { Blocks } from "../src/pages/session/log/blocks.ts";
import { EventCache } from "../src/pages/session/log/event-cache.ts";

function log(...events: NewEvent[]): RunEvent[] {
  return events.map((event, index) => ({
    ...event,
    run_id: "01990000-0000-7000-8000-000000000001",
    seq: index + 1,
    created_at: "2026-01-01T00:00:00.000Z",
    turn: 1,
    attempt: 1,
  })) as RunEvent[];
}

function read(events: readonly RunEvent[]): Blocks {
  const blocks = new Blocks();
  for (const event of events) blocks.add(event);
  return blocks;
}

const started = (command_id: string): NewEvent => ({
  type: "command.started",
  data: { command_id, command: "make" },
});
const printed = (command_id: string): NewEvent => ({
  type: "command.output",
  data: { command_id, stream: "stdout", text: "line\n" },
});
const finished = (command_id: string, exit_code: number): NewEvent => ({
  type: "command.finished",
  data: { command_id, exit_code, duration_ms: 1 },
});
const said = (text: string): NewEvent => ({ type: "message.agent", data: { text } });

describe("Blocks", () => {
  test("separates commands that ran concurrently", () => {
    const blocks = read(
      log(
        started("a"),
        started("b"),
        printed("a"),
        said("Meanwhile"),
        printed("b"),
        finished("b", 0),
        finished("a", 2),
      ),
    );
    expect(blocks.count).toBe(3);
    expect(blocks.seqs(0)).toEqual([1, 3, 7]);
    expect(blocks.seqs(1)).toEqual([2, 5, 6]);
    expect([blocks.isFailed(0), blocks.isFailed(1)]).toEqual([true, false]);
    expect(blocks.at(5)).toBe(1);
  });

  test("marks a command without a final event as interrupted", () => {
    const blocks = read(
      log(started("a"), { type: "run.recovering", data: { reason: "worker lost" } }, started("a")),
    );
    expect([blocks.isOpen(0), blocks.isInterrupted(0)]).toEqual([false, true]);
    expect(blocks.isOpen(2)).toBe(true);
  });

  test.each(["write_file", "Write", "edit"])(
    "marks a call of %s as redundant, because another event shows its effect, unless it failed",
    (tool) => {
      const call = (call_id: string): NewEvent => ({
        type: "tool.called",
        data: { call_id, tool, input: {} },
      });
      const blocks = read(
        log(call("a"), { type: "tool.returned", data: { call_id: "a", tool, output: "" } }, call("b"), {
          type: "tool.returned",
          data: { call_id: "b", tool, output: "no space", is_error: true },
        }),
      );
      expect([blocks.isRedundant(0), blocks.isRedundant(1)]).toEqual([true, false]);
    },
  );

  test("detects a final text that repeats the last message", () => {
    const blocks = read(log(said("Done."), { type: "run.succeeded", data: { text: "Done." } }));
    expect(blocks.repeatsLastMessage(1)).toBe(true);
  });
});

describe("EventCache", () => {
  test("fetches requested blocks and keeps a bounded number of events", async () => {
    const events = log(...Array.from({ length: 20_000 }, (_, n) => said(`Step ${n}`)));
    const asked: number[] = [];
    const blocks = new Blocks();
    const cache = new EventCache(
      {
        async page(after, limit) {
          asked.push(after);
          return events.slice(after, after + limit);
        },
        async *stream() {},
      },
      blocks,
    );
    for (const event of events) {
      blocks.add(event);
      cache.add(event);
    }
    const kept = events.filter((_, block) => cache.has(block)).length;
    expect(kept).toBeLessThanOrEqual(2_400);
    expect(cache.has(19_999)).toBe(true);
    expect(cache.events(7)).toBeUndefined();
    const told = new Promise<void>((resolve) => cache.subscribe(resolve));
    const forget = cache.request(7);
    await told;
    forget();
    expect(cache.events(7)).toEqual([events[7]]);
    expect(asked).toEqual([0]);
  });
});
