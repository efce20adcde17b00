import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { writeLongLog } from "./long-log.ts";
import { patient, startWebWorld, type WebWorld } from "./world.ts";
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
    const composer = page.getByRole("textbox", { name: /message/i });
    await composer.focus();
    const typing = await workOf(
      page,
      Array.from("look again", (letter) => () => page.keyboard.press(letter === " " ? "Space" : letter)),
    );
    await page.getByRole("region", { name: "Transcript" }).hover();
    const scrolling = await workOf(
      page,
      Array.from({ length: 10 }, () => () => page.mouse.wheel(0, -600)),
    );
    const filtering = await workOf(
      page,
      ["Commands", "Failed", "Messages", "All"].map(
        (name) => () => page.getByRole("button", { name: new RegExp(`^${name}`) }).click(),
      ),
    );
    console.info(`most work for one act: typing ${typing}, scrolling ${scrolling}, filtering ${filtering}`);
    for (const work of [typing, scrolling, filtering]) expect(work.ms).toBeLessThan(MOST_WORK_MS);
    expect(complaints).toEqual([]);
  });

  test("does not move what is read while what stands above it comes", async () => {
    const { page, complaints } = await world.visit(`/runs/${long}#e-10002`);
    await page.getByText("part 10001").waitFor({ timeout: 30_000 });
    await page.getByRole("region", { name: "Transcript" }).hover();
    for (let turn = 0; turn < 8; turn++) {
      const before = await places(page);
      await page.mouse.wheel(0, -300);
      await vi.waitFor(async () => {
        const after = await places(page);
        const moved = [...before]
          .filter(([link]) => after.has(link))
          .map(([link, top]) => (after.get(link) ?? 0) - top);
        expect(moved.length).toBeGreaterThan(0);
        expect(new Set(moved)).toEqual(new Set([300]));
      }, patient);
      await page.waitForLoadState("networkidle");
    }
    expect(complaints).toEqual([]);
  });
});

/** Where each block in sight stands, by its link. */
async function places(page: Page): Promise<Map<string, number>> {
  const found = await page.getByRole("article").evaluateAll((articles) =>
    articles.map((article) => {
      const { top } = article.getBoundingClientRect();
      return [article.querySelector("a[href^='#e-']")?.getAttribute("href") ?? "", Math.round(top)] as const;
    }),
  );
  return new Map(found.filter(([, top]) => top > 150 && top < 700));
}

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
  ts: number;
  tdur?: number;
  tid: number;
  args: { name?: string };
}

/**
 * What each act cost the page's main thread until it was quiet again, in milliseconds of its own time: how long others
 * kept the machine busy meanwhile is not the page's work. Answers the most.
 */
async function workOf(page: Page, acts: (() => Promise<unknown>)[]): Promise<Work> {
  const tools = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  tools.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  const includedCategories = ["toplevel", "blink.user_timing"];
  await tools.send("Tracing.start", { traceConfig: { includedCategories } });
  for (const act of acts) {
    await page.evaluate(() => performance.mark("act"));
    await act();
    await quiet(page);
  }
  await page.evaluate(() => performance.mark("act"));
  const complete = new Promise((resolve) => tools.once("Tracing.tracingComplete", resolve));
  await tools.send("Tracing.end");
  await complete;
  await tools.detach();
  const marks = events.filter(({ name }) => name === "act").map(({ ts }) => ts);
  expect(marks).toHaveLength(acts.length + 1);
  const main = events.find(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain")?.tid;
  const tasks = events.filter(({ tid, ph, name }) => tid === main && ph === "X" && name.endsWith("RunTask"));
  expect(tasks.length).toBeGreaterThan(acts.length);
  const work = acts.map((_, index) => {
    const [from = 0, to = 0] = marks.slice(index, index + 2);
    const own = tasks.filter(({ ts }) => ts >= from && ts < to);
    return own.reduce((sum, { tdur = 0 }) => sum + tdur / 1_000, 0);
  });
  return new Work(Math.max(...work));
}

class Work {
  readonly ms: number;

  constructor(ms: number) {
    this.ms = ms;
  }

  toString() {
    return `${this.ms.toFixed(0)} ms`;
  }
}

/** Everything in sight has its words, and there is nothing left to do. */
async function quiet(page: Page) {
  const frame = "new Promise((go) => requestAnimationFrame(() => requestIdleCallback(go)))";
  await page.evaluate(frame);
  await page
    .getByRole("region", { name: "Transcript" })
    .locator(".animate-pulse")
    .first()
    .waitFor({ state: "detached" });
  await page.evaluate(frame);
}

const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
