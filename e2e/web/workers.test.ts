import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { longSleep } from "../../packages/worker/test/installation.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

describe("workers", () => {
  test("explains how to add a worker while there is none, and creates its key", async () => {
    const { page, context, consoleErrors } = await app.visit("/workers");
    await page.getByText("Runs wait in the queue until a worker connects.").waitFor();
    await page.getByRole("button", { name: "Add worker" }).first().click();
    await page.getByRole("button", { name: "Create worker key" }).click();
    const sheet = page.getByRole("dialog");
    await sheet.getByLabel("Name").fill("rack 2");
    await sheet.getByRole("button", { name: "Create key" }).click();
    await sheet.getByText(/OUTRIDER_WORKER_KEY=orw_/).waitFor();
    await sheet.getByRole("button", { name: "I have saved it" }).click();
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);
    await context.close();
  });

  test("shows a new worker with its run, and drains it after confirmation", async () => {
    const { page, context, consoleErrors } = await app.visit("/workers");
    await page.getByText("No workers connected").waitFor();
    const { command } = longSleep();
    const run = await app.create([`RUN: ${command}`], {
      title: "Keeps a worker busy",
      config: { worker_host: "gpu", worker_selector: { region: "eu", ssd: "true" } },
    });
    const labels = { region: "eu", ssd: "true" };
    const worker = await app.worker({ slots: 2, drainMs: 100, pool: "gpu", labels });
    const row = page.getByRole("row", { name: /worker-1/ });
    await row.getByText("1 of 2 in use").locator("visible=true").waitFor();
    await row.getByText("Working").waitFor();
    const link = row.getByRole("link", { name: "Keeps a worker busy" });
    expect(await link.getAttribute("href")).toBe(`/runs/${run}`);
    await row.getByText(/· [\d.]+ [MGT]iB disk free/).waitFor();
    await row.getByText(/^pool gpu · version/).waitFor();
    expect(await row.getByRole("list", { name: "Labels" }).getByRole("listitem").allTextContents()).toEqual([
      "region=eu",
      "ssd",
    ]);
    await expectAccessible(page);

    await row.getByRole("button", { name: "Drain worker-1" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).press("Enter");
    expect((await app.call("GET", "/workers")).body.workers[0].draining).toBe(false);
    await row.getByRole("button", { name: "Drain worker-1" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Drain worker", exact: true }).press("Enter");
    await page.getByText("worker-1 is draining").waitFor();
    await row.getByText("Draining").waitFor();
    // The worker finishes its run and exits.
    await app.call("POST", `/agent/runs/${run}/cancel`);
    await worker.drained;
    expect(consoleErrors).toEqual([]);
    await context.close();
  });
});
