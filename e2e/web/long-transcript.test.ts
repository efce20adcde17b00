import type { CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { writeLongLog } from "./long-log.ts";
import { startWebWorld, type WebWorld } from "./world.ts";
import { finish } from "./written.ts";

vi.setConfig({ testTimeout: 60_000 });

const MOST_WORK_MS = 100;
const MOST_GROWTH = 1.2;

let world: WebWorld;
let short: string;
let long: string;

beforeAll(async () => {
  world = await startWebWorld();
  [short, long] = (await Promise.all([longRun(2_000), longRun(20_000)])) as [string, string];
}, 60_000);
afterAll(() => world?.stop());

describe("a transcript of twenty thousand events", () => {
  test("takes hardly more memory than one of two thousand", async () => {
    const small = await heapOf(short);
    const large = await heapOf(long);
    console.info(
      `heap: ${mb(small)} at 2,000 events, ${mb(large)} at 20,000: × ${(large / small).toFixed(2)}`,
    );
    expect(large / small).toBeLessThanOrEqual(MOST_GROWTH);
  });

  test("stays smooth while one types, scrolls and filters", async () => {
    const { page, complaints } = await open(long);
    const tools = await page.context().newCDPSession(page);
    const composer = page.getByRole("textbox", { name: /message/i });
    await composer.focus();
    const typing = await workOf(tools, () =>
      page.keyboard.type("Please look at part 7 again", { delay: 10 }),
    );
    await page.getByRole("region", { name: "Transcript" }).hover();
    const scrolling = await workOf(tools, async () => {
      for (let turn = 0; turn < 12; turn++) {
        await page.mouse.wheel(0, -1_500);
        await frame(page);
      }
    });
    const filtering = await workOf(tools, async () => {
      await page.getByRole("button", { name: "Commands" }).click();
      await frame(page);
      await page.getByRole("button", { name: "All", exact: true }).click();
      await frame(page);
    });
    console.info(
      `longest task: typing ${ms(typing)}, scrolling ${ms(scrolling)}, filtering ${ms(filtering)}`,
    );
    expect(Math.max(typing, scrolling, filtering)).toBeLessThan(MOST_WORK_MS);
    expect(complaints).toEqual([]);
  });
});

async function longRun(events: number): Promise<string> {
  const run = await world.create(["Look at every part."], { title: `A long day of ${events} events` });
  await writeLongLog(world, run, events);
  await finish(world, run);
  return run;
}

async function open(run: string) {
  const visitor = await world.visit(`/runs/${run}`);
  await visitor.page.getByRole("article", { name: "Succeeded" }).waitFor({ timeout: 30_000 });
  await visitor.page.waitForLoadState("networkidle");
  return visitor;
}

/** What is left after everything that can go has gone. */
async function heapOf(run: string): Promise<number> {
  const { page, context } = await open(run);
  // Some scrolling, so that what is fetched and dropped again counts too.
  const transcript = page.getByRole("region", { name: "Transcript" });
  for (const part of [0.5, 0.1, 0.9]) {
    await transcript.evaluate((element, part) => element.scrollTo(0, element.scrollHeight * part), part);
    await page.getByRole("article").first().waitFor();
    await page.waitForLoadState("networkidle");
  }
  const tools = await context.newCDPSession(page);
  await tools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await tools.send("Runtime.getHeapUsage");
  await context.close();
  return usedSize;
}

interface TraceEvent {
  name: string;
  ph: string;
  dur?: number;
  tid: number;
  args: { name?: string };
}

/** The longest stretch for which the page's main thread was busy without a break, in milliseconds. */
async function workOf(tools: CDPSession, act: () => Promise<unknown>): Promise<number> {
  const events: TraceEvent[] = [];
  const collect = ({ value }: { value: object[] }) => events.push(...(value as TraceEvent[]));
  tools.on("Tracing.dataCollected", collect);
  await tools.send("Tracing.start", {
    traceConfig: { includedCategories: ["toplevel", "devtools.timeline"] },
  });
  await act();
  const complete = new Promise((resolve) => tools.once("Tracing.tracingComplete", resolve));
  await tools.send("Tracing.end");
  await complete;
  tools.off("Tracing.dataCollected", collect);
  const main = events.find(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain")?.tid;
  const tasks = events.filter(({ tid, ph, name }) => tid === main && ph === "X" && /RunTask/.test(name));
  return Math.max(0, ...tasks.map(({ dur = 0 }) => dur / 1_000));
}

function frame(page: Page) {
  return page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))");
}

const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
const ms = (value: number) => `${value.toFixed(0)} ms`;
