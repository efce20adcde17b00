import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { longSleep } from "../../packages/worker/test/installation.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { chooseOption } from "./support/choose-option.ts";
import { invite, signInByLink, userByEmail, withoutRejections } from "./support/users.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

const OPERATIONS = "/settings?section=operations";
let app: WebApp;
/** A run that stays active during the tests. */
let busy: string;

beforeAll(async () => {
  app = await startWebApp();
  busy = await app.create([`RUN: ${longSleep().command}`], { title: "At work" });
  await app.worker({ slots: 1, drainMs: 100 });
  await app.until(busy, "INPROGRESS");
});
afterEach(() => maintenance({}));
afterAll(() => app?.stop());

const maintenance = async (body: object) =>
  (await app.call("PUT", "/installation/maintenance", { body })).body as { message?: string };
const maintenanceState = async () => (await app.call("GET", "/installation/maintenance")).body;
const state = (page: Page) =>
  page.locator("section").filter({ has: page.getByRole("heading", { name: "Maintenance", exact: true }) });
const banner = (page: Page) => page.getByRole("status", { name: "Active restrictions" });
const prompt = (page: Page) => page.getByRole("textbox", { name: "What should the agent do?" });
const start = (page: Page) => page.getByRole("button", { name: /^Start run/ });
/** Filters out rejected requests, which the browser logs as errors. */
const unexpectedErrors = (consoleErrors: string[]) =>
  withoutRejections(consoleErrors).filter((text) => !/status of 503/.test(text));

async function visitAs(email: string, path: string) {
  const visitor = await app.visit(await invite(app, email, email.split("@")[0] as string), {
    signedIn: false,
  });
  await signInByLink(visitor.page);
  await visitor.page.getByRole("heading", { name: "Home" }).waitFor();
  await visitor.page.goto(path);
  return visitor;
}

describe("maintenance mode", () => {
  test("pauses new runs, shows who set it and why, and ends after confirmation", async () => {
    const waiting = await app.create(["SAY: waits"]);
    const { page, consoleErrors } = await app.visit(OPERATIONS);
    await state(page).getByText("No active restrictions").waitFor();
    await state(page).getByRole("link", { name: "1 in progress" }).waitFor();
    await state(page).getByRole("link", { name: "1 queued" }).waitFor();
    await page.getByRole("radio", { name: "Pause new runs", exact: true }).check();
    await page.getByLabel("Message").fill("Back at noon.");
    await page.getByRole("button", { name: "Pause new runs", exact: true }).press("Enter");
    await state(page).getByText("Set by Admin, just now.").waitFor();
    await state(page).getByText("Back at noon.").waitFor();
    expect(await maintenanceState()).toMatchObject({
      admission: "paused",
      queue: "open",
      message: "Back at noon.",
    });
    await banner(page).getByText("New runs are paused. Queued runs continue.").waitFor();
    await expectAccessible(page);

    await page.getByLabel("Message").fill("Back at one.");
    await page.getByRole("button", { name: "Update message" }).press("Enter");
    await banner(page).getByText("Back at one.").waitFor();

    await page.getByRole("button", { name: "End maintenance" }).press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Back at one.").waitFor();
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Cancel" }).press("Enter");
    expect(await maintenanceState()).toMatchObject({ admission: "paused" });
    await page.getByRole("button", { name: "End maintenance" }).press("Enter");
    await dialog.getByRole("button", { name: "End maintenance" }).press("Enter");
    await state(page).getByText("No active restrictions").waitFor();
    await state(page).getByText("Ended by Admin, just now.").waitFor();
    expect(await maintenanceState()).toMatchObject({ admission: "open", mode: "normal" });
    await banner(page).getByText("New runs").waitFor({ state: "detached" });
    await app.call("POST", `/agent/runs/${waiting}/cancel`);
    expect(consoleErrors).toEqual([]);
  });

  test("describes the effect on runs before it pauses the queue or enables read-only mode", async () => {
    const { page, consoleErrors } = await app.visit(OPERATIONS);
    await page.getByRole("radio", { name: "Pause new runs and the queue" }).check();
    await page.getByRole("button", { name: "Pause new runs and the queue…" }).press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 in progress will finish; 0 queued will wait").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).press("Enter");
    expect(await maintenanceState()).toMatchObject({ admission: "open", queue: "open" });
    await page.getByRole("button", { name: "Pause new runs and the queue…" }).press("Enter");
    await dialog.getByRole("button", { name: "Pause new runs and the queue" }).press("Enter");
    await state(page).getByText("Paused", { exact: true }).waitFor();
    expect(await maintenanceState()).toMatchObject({ admission: "paused", queue: "paused" });

    await page.getByRole("radio", { name: "Enable read-only mode" }).check();
    await page.getByRole("button", { name: "Enable read-only mode…" }).press("Enter");
    await dialog.getByRole("button", { name: "Enable read-only mode" }).press("Enter");
    await banner(page).getByText("Read-only mode: new runs and changes are disabled.").waitFor();
    expect(await maintenanceState()).toMatchObject({ mode: "read_only" });
    // Changes of another admin appear without a reload.
    await maintenance({ queue: "paused" });
    await state(page).getByText("Paused", { exact: true }).waitFor();
    await banner(page).getByText("The queue is paused. New runs are accepted and wait.").waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("explains a rejected change, and is hidden from members", async () => {
    const { page, consoleErrors } = await visitAs("second@example.com", "/");
    const { uid } = await userByEmail(app, "second@example.com");
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await app.call("PATCH", `/users/${uid}`, { body: { role: "admin" } });
    await page.goto(OPERATIONS);
    await page.getByRole("radio", { name: "Enable read-only mode" }).check();
    await page.getByRole("button", { name: "Enable read-only mode…" }).press("Enter");
    await app.call("PATCH", `/users/${uid}`, { body: { role: "member" } });
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Enable read-only mode" }).press("Enter");
    await dialog.getByRole("alert").getByText("You don't have permission to do this").waitFor();
    expect(await maintenanceState()).toMatchObject({ mode: "normal" });
    await page.goto("/settings");
    await page.getByRole("link", { name: "Limits" }).waitFor();
    expect(await page.getByRole("link", { name: "Operations" }).count()).toBe(0);
    expect(unexpectedErrors(consoleErrors)).toEqual([]);
  });
});

describe("during maintenance", () => {
  test("tells members within seconds, disables starting runs, and keeps their drafts", async () => {
    const { page, consoleErrors } = await visitAs("member@example.com", "/");
    await prompt(page).fill("SAY: typed before");
    await start(page).waitFor();
    expect(await start(page).isEnabled()).toBe(true);
    await maintenance({ admission: "paused", message: "Back at noon." });
    await banner(page).getByText("New runs are paused.").waitFor();
    expect(await banner(page).getByRole("link").count()).toBe(0);
    await page.getByText("New runs are paused. Your draft is saved").waitFor();
    await page.getByRole("form", { name: "New run" }).getByText("Back at noon.").waitFor();
    expect(await start(page).isDisabled()).toBe(true);
    await prompt(page).press("Control+Enter");
    await expectAccessible(page);
    await page.reload();
    await banner(page).getByText("Back at noon.").waitFor();
    expect(await prompt(page).inputValue()).toBe("SAY: typed before");
    await maintenance({});
    await vi.waitUntil(() => start(page).isEnabled(), waitOptions);
    await start(page).press("Enter");
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
    const run = await app.get(page.url().slice(-36));
    expect(run.prompt).toBe("SAY: typed before");
    await app.call("POST", `/agent/runs/${run.run_id}/cancel`);
    expect(consoleErrors).toEqual([]);
  });

  test("shows the operator's message if a run is rejected before the page has noticed", async () => {
    const { page, consoleErrors } = await app.visit("/");
    await prompt(page).fill("SAY: too late");
    await start(page).waitFor();
    // The page has just polled, and further polls fail.
    await page.route("**/api/v1/installation", (route) => route.abort());
    await maintenance({ admission: "paused", message: "Back at noon." });
    await start(page).press("Enter");
    await page
      .getByRole("alert")
      .getByText(/does not accept new runs\. Message from the operator: Back at noon\./)
      .waitFor();
    await page.unroute("**/api/v1/installation");
    await page.getByText("New runs are paused. Your draft is saved").waitFor();
    await page.getByRole("alert").waitFor({ state: "detached" });
    expect(await prompt(page).inputValue()).toBe("SAY: too late");
    expect(unexpectedErrors(consoleErrors).filter((text) => !/ERR_FAILED/.test(text))).toEqual([]);
  });

  test("accepts messages only for active runs, and none in read-only mode", async () => {
    const ended = await app.create(["SAY: over"]);
    await app.call("POST", `/agent/runs/${ended}/cancel`);
    await maintenance({ admission: "paused" });
    const { page, consoleErrors } = await app.visit(`/runs/${ended}`);
    const message = page.getByRole("textbox", { name: "Message to the agent" });
    const send = page.getByRole("button", { name: "Send", exact: true });
    await page.getByText("New turns are paused.").waitFor();
    await message.fill("SAY: again");
    expect(await send.isDisabled()).toBe(true);
    const height = "document.documentElement.scrollHeight - document.documentElement.clientHeight";
    expect(await page.evaluate(height)).toBe(0);
    await page.goto(`/runs/${busy}`);
    await message.fill("SAY: go on");
    expect(await send.isEnabled()).toBe(true);
    await maintenance({ mode: "read_only" });
    await page.getByText("Messages are disabled in read-only mode. Your draft is saved.").waitFor();
    expect(await send.isDisabled()).toBe(true);
    await page.reload();
    await page.getByText("Messages are disabled in read-only mode.").waitFor();
    expect(await message.inputValue()).toBe("SAY: go on");
    await page.goto(`/runs/${ended}`);
    expect(await message.inputValue()).toBe("SAY: again");
    expect(consoleErrors).toEqual([]);
  });
});

describe("cancelling runs by filter", () => {
  const dialog = (page: Page) => page.getByRole("dialog");
  const cancelAll = (page: Page) => page.getByRole("button", { name: "Cancel matching runs…" });

  test("asks with the number of runs and cancels only matching ones, also in read-only mode", async () => {
    const environment = (await app.call("POST", "/agent/environments", { body: { name: "shop" } })).body;
    const config = { name: "nightly", environment_id: environment.environment_id };
    const [first, second] = [
      await app.create(["SAY: 1"], { config }),
      await app.create(["SAY: 2"], { config }),
    ];
    const other = await app.create(["SAY: 3"], { config: { name: "nightly" } });
    const { page, consoleErrors } = await app.visit(OPERATIONS);
    const form = page.getByRole("form", { name: "Cancel runs" });
    await form.getByLabel("Name").fill("nobody's");
    await cancelAll(page).press("Enter");
    await form.getByText("No matching runs").waitFor();
    await form.getByLabel("Name").fill("nightly");
    await form.getByLabel("Queued").check();
    await chooseOption(form.getByLabel("Creator"), "Admin (admin@localhost)");
    await chooseOption(form.getByLabel("Environment"), "shop");
    await chooseOption(form.getByLabel("Source"), "API");
    await cancelAll(page).press("Enter");
    await dialog(page).getByText("New runs are still accepted").waitFor();
    await expectAccessible(page);
    await dialog(page).getByRole("button", { name: "Keep runs" }).press("Enter");
    expect((await app.get(first)).state).toBe("QUEUED");
    await maintenance({ mode: "read_only" });
    await banner(page).getByText("Read-only").waitFor();
    await cancelAll(page).press("Enter");
    await dialog(page).getByRole("button", { name: "Cancel 2 runs" }).press("Enter");
    await dialog(page).getByText("2 runs cancelled, 0 left.").waitFor();
    await dialog(page).getByRole("button", { name: "Done" }).press("Enter");
    expect((await app.get(first)).state).toBe("CANCELLED");
    expect((await app.get(second)).state).toBe("CANCELLED");
    expect((await app.get(other)).state).toBe("QUEUED");
    expect((await app.get(busy)).state).toBe("INPROGRESS");
    expect(consoleErrors).toEqual([]);
  });

  test("shows progress, can be stopped between batches, and continues", async () => {
    await maintenance({ admission: "paused", queue: "paused" });
    await queueMany(410);
    const { page, consoleErrors } = await app.visit(OPERATIONS);
    const form = page.getByRole("form", { name: "Cancel runs" });
    await form.getByLabel("Name").fill("many");
    let calls = 0;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route("**/api/v1/installation/maintenance/cancel", async (route) => {
      const isReal = !route.request().postDataJSON().dry_run;
      if (isReal) calls++;
      // The second batch waits until Stop has been pressed.
      if (isReal && calls === 2) await held;
      await route.continue();
    });
    await cancelAll(page).press("Enter");
    await dialog(page).getByRole("button", { name: "Cancel 410 runs" }).press("Enter");
    await dialog(page).getByText("200 runs cancelled, 210 left.").waitFor();
    expect(await dialog(page).getByRole("progressbar").getAttribute("value")).toBe("200");
    await expectAccessible(page);
    await dialog(page).getByRole("button", { name: "Stop" }).press("Enter");
    await dialog(page).getByText("Stopping").waitFor();
    release();
    await dialog(page).getByText("400 runs cancelled, 10 left.").waitFor();
    await dialog(page).getByRole("heading", { name: "Some runs were not cancelled" }).waitFor();
    expect(calls).toBe(2);
    await dialog(page).getByRole("button", { name: "Continue" }).press("Enter");
    await dialog(page).getByText("410 runs cancelled, 0 left.").waitFor();
    await dialog(page).getByRole("heading", { name: "All runs cancelled" }).waitFor();
    expect(calls).toBe(3);
    expect(consoleErrors).toEqual([]);
  });
});

test("says on every page that new runs are paused while a disk is full", async () => {
  const full = await startWebApp({ OUTRIDER_MIN_FREE_MB: "1000000000" });
  try {
    const { page, consoleErrors } = await full.visit("/welcome");
    await banner(page).getByText("New runs are paused: the server is low on disk space.").waitFor();
    await page.getByText("New runs are paused. Try again later.").waitFor();
    expect(await page.getByRole("button", { name: "Start first run" }).isDisabled()).toBe(true);
    await page.goto("/");
    await page.getByText("New runs are paused. Your draft is saved").waitFor();
    expect(await page.getByRole("button", { name: "Run example" }).isDisabled()).toBe(true);
    expect(consoleErrors).toEqual([]);
  } finally {
    await full.stop();
  }
});

/** Queues many copies of a run under one name, more than fit in a batch. */
async function queueMany(count: number) {
  await app.db`
    insert into runs (run_id, title, prompt, state, created_at, updated_at, source, creator_type, creator_uid, key_id,
      config_name, named_by_skill, model_id, agent_config, priority, trace_id)
    select gen_random_uuid(), title, prompt, 'QUEUED', created_at, updated_at, source, creator_type, creator_uid, key_id,
      'many', named_by_skill, model_id, agent_config, priority, trace_id
    from (select * from runs where run_id = ${busy}) r, generate_series(1, ${count})`;
  await app.db`
    insert into run_state (run_id, state, phase, last_seq, owner_uid, key_id, priority, queued_at)
    select run_id, 'QUEUED', 'queued', 0, creator_uid, key_id, 0, created_at from runs where config_name = 'many'`;
}
