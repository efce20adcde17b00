import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { longSleep } from "../../packages/worker/test/world.ts";
import { expectAccessible, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000 });

let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld();
});
afterAll(() => world?.stop());

describe("workers", () => {
  test("without one, the page says what happens to runs and how to add one, and the key for it is made on the way", async () => {
    const { page, context, complaints } = await world.visit("/workers");
    await page.getByText("Runs wait in the queue until one comes.").waitFor();
    await page.getByRole("button", { name: "Add a worker" }).first().click();
    await page.getByRole("button", { name: "Make a worker key" }).click();
    const sheet = page.getByRole("dialog");
    await sheet.getByLabel("Name").fill("rack 2");
    await sheet.getByRole("button", { name: "Make the key" }).click();
    await sheet.getByText(/OUTRIDER_WORKER_KEY=orw_/).waitFor();
    await sheet.getByRole("button", { name: "I have stored it" }).click();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("a worker comes up by itself, with the run it is at work on, and is drained after a question", async () => {
    const { page, context, complaints } = await world.visit("/workers");
    await page.getByText("No worker is there").waitFor();
    const { command } = longSleep();
    const run = await world.create([`RUN: ${command}`], { title: "Keeps a worker busy" });
    const worker = await world.worker({ slots: 2, drainMs: 100 });
    const row = page.getByRole("row", { name: /worker-1/ });
    await row.getByText("1 of 2 in use").locator("visible=true").waitFor();
    await row.getByText("Working").waitFor();
    const link = row.getByRole("link", { name: "Keeps a worker busy" });
    expect(await link.getAttribute("href")).toBe(`/runs/${run}`);
    await row.getByText(/· [\d.]+ [MGT]iB of disk free/).waitFor();
    await expectAccessible(page);

    await row.getByRole("button", { name: "Drain worker-1" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).press("Enter");
    expect((await world.call("GET", "/workers")).body.workers[0].draining).toBe(false);
    await row.getByRole("button", { name: "Drain worker-1" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Drain", exact: true }).press("Enter");
    await page.getByText("worker-1 takes nothing new").waitFor();
    await row.getByText("Draining").waitFor();
    // It finishes what it has, and leaves.
    await world.call("POST", `/agent/runs/${run}/cancel`);
    await worker.drained;
    expect(complaints).toEqual([]);
    await context.close();
  });
});
