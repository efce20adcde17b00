import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { longSleep } from "../../packages/worker/test/world.ts";
import { comeInByLink, invite, personByEmail, withoutRefusals } from "./people.ts";
import { expectAccessible, patient, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const OPERATIONS = "/settings?section=operations";
let world: WebWorld;
/** At work for as long as the tests are. */
let busy: string;

beforeAll(async () => {
  world = await startWebWorld();
  busy = await world.create([`RUN: ${longSleep().command}`], { title: "At work" });
  await world.worker({ slots: 1, drainMs: 100 });
  await world.until(busy, "INPROGRESS");
});
afterEach(() => brake({}));
afterAll(() => world?.stop());

const brake = async (body: object) =>
  (await world.call("PUT", "/installation/brake", { body })).body as { message?: string };
const standing = async () => (await world.call("GET", "/installation/brake")).body;
const state = (page: Page) =>
  page.locator("section").filter({ has: page.getByRole("heading", { name: "The brake", exact: true }) });
const banner = (page: Page) => page.getByRole("status", { name: "What is stopped" });
const prompt = (page: Page) => page.getByRole("textbox", { name: "What should the agent do?" });
const start = (page: Page) => page.getByRole("button", { name: /^Start run/ });
/** What a page may do while another admin does something: the browser notes each refusal. */
const quiet = (complaints: string[]) =>
  withoutRefusals(complaints).filter((text) => !/status of 503/.test(text));

async function visitAs(email: string, path: string) {
  const visitor = await world.visit(await invite(world, email, email.split("@")[0] as string), {
    signedIn: false,
  });
  await comeInByLink(visitor.page);
  await visitor.page.getByRole("heading", { name: "Home" }).waitFor();
  await visitor.page.goto(path);
  return visitor;
}

describe("the brake", () => {
  test("pauses new runs at once, says since when, by whom and why, and is released after a question", async () => {
    const waiting = await world.create(["SAY: waits"]);
    const { page, complaints } = await world.visit(OPERATIONS);
    await state(page).getByText("Nothing is stopped.").waitFor();
    await state(page).getByRole("link", { name: "1 in progress" }).waitFor();
    await state(page).getByRole("link", { name: "1 queued" }).waitFor();
    await page.getByRole("radio", { name: "Pause new runs", exact: true }).check();
    await page.getByLabel("Message").fill("Back at noon.");
    await page.getByRole("button", { name: "Pause new runs", exact: true }).press("Enter");
    await state(page).getByText("Set by Admin, just now.").waitFor();
    await state(page).getByText("Back at noon.").waitFor();
    expect(await standing()).toMatchObject({ intake: "paused", queue: "open", message: "Back at noon." });
    await banner(page).getByText("New runs are paused. Those that wait are still worked on.").waitFor();
    await expectAccessible(page);

    await page.getByLabel("Message").fill("Back at one.");
    await page.getByRole("button", { name: "Change the message" }).press("Enter");
    await banner(page).getByText("Back at one.").waitFor();

    await page.getByRole("button", { name: "Release" }).press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Back at one.").waitFor();
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Leave it" }).press("Enter");
    expect(await standing()).toMatchObject({ intake: "paused" });
    await page.getByRole("button", { name: "Release" }).press("Enter");
    await dialog.getByRole("button", { name: "Release" }).press("Enter");
    await state(page).getByText("Nothing is stopped.").waitFor();
    await state(page).getByText("Released by Admin, just now.").waitFor();
    expect(await standing()).toMatchObject({ intake: "open", mode: "normal" });
    await banner(page).getByText("New runs").waitFor({ state: "detached" });
    await world.call("POST", `/agent/runs/${waiting}/cancel`);
    expect(complaints).toEqual([]);
  });

  test("holds the queue, or allows reading alone, only after it has said what becomes of the runs", async () => {
    const { page, complaints } = await world.visit(OPERATIONS);
    await page.getByRole("radio", { name: "Pause new runs and the queue" }).check();
    await page.getByRole("button", { name: "Pause new runs and the queue…" }).press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 in progress will be finished; 0 in the queue will wait").waitFor();
    await dialog.getByRole("button", { name: "Leave it" }).press("Enter");
    expect(await standing()).toMatchObject({ intake: "open", queue: "open" });
    await page.getByRole("button", { name: "Pause new runs and the queue…" }).press("Enter");
    await dialog.getByRole("button", { name: "Pause new runs and the queue" }).press("Enter");
    await state(page).getByText("Held").waitFor();
    expect(await standing()).toMatchObject({ intake: "paused", queue: "paused" });

    await page.getByRole("radio", { name: "Make it read-only" }).check();
    await page.getByRole("button", { name: "Make it read-only…" }).press("Enter");
    await dialog.getByRole("button", { name: "Make it read-only" }).press("Enter");
    await banner(page).getByText("Read-only: nothing can be started or changed now.").waitFor();
    expect(await standing()).toMatchObject({ mode: "read_only" });
    // What another admin does shows here, without a reload.
    await brake({ queue: "paused" });
    await state(page).getByText("Held").waitFor();
    await banner(page).getByText("The queue is paused: new runs are taken, and wait.").waitFor();
    expect(complaints).toEqual([]);
  });

  test("says clearly why it was refused, and is nowhere for members", async () => {
    const { page, complaints } = await visitAs("second@example.com", "/");
    const { uid } = await personByEmail(world, "second@example.com");
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await world.call("PATCH", `/people/${uid}`, { body: { role: "admin" } });
    await page.goto(OPERATIONS);
    await page.getByRole("radio", { name: "Make it read-only" }).check();
    await page.getByRole("button", { name: "Make it read-only…" }).press("Enter");
    await world.call("PATCH", `/people/${uid}`, { body: { role: "member" } });
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Make it read-only" }).press("Enter");
    await dialog.getByRole("alert").getByText("You may not do this").waitFor();
    expect(await standing()).toMatchObject({ mode: "normal" });
    await page.goto("/settings");
    await page.getByRole("link", { name: "Limits" }).waitFor();
    expect(await page.getByRole("link", { name: "Operations" }).count()).toBe(0);
    expect(quiet(complaints)).toEqual([]);
  });
});

describe("while the brake is on", () => {
  test("members see it within seconds, are told before they start a run, and lose nothing", async () => {
    const { page, complaints } = await visitAs("member@example.com", "/");
    await prompt(page).fill("SAY: typed before");
    await start(page).waitFor();
    expect(await start(page).isEnabled()).toBe(true);
    await brake({ intake: "paused", message: "Back at noon." });
    const said = Date.now();
    await banner(page).getByText("New runs are paused.").waitFor();
    expect(Date.now() - said).toBeLessThan(10_000);
    expect(await banner(page).getByRole("link").count()).toBe(0);
    await page.getByText("New runs are not taken now. What you type here stays").waitFor();
    await page.getByRole("form", { name: "New run" }).getByText("Back at noon.").waitFor();
    expect(await start(page).isDisabled()).toBe(true);
    await prompt(page).press("Control+Enter");
    await expectAccessible(page);
    await page.reload();
    await banner(page).getByText("Back at noon.").waitFor();
    expect(await prompt(page).inputValue()).toBe("SAY: typed before");
    await brake({});
    await vi.waitUntil(() => start(page).isEnabled(), patient);
    await start(page).press("Enter");
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
    const run = await world.get(page.url().slice(-36));
    expect(run.prompt).toBe("SAY: typed before");
    await world.call("POST", `/agent/runs/${run.run_id}/cancel`);
    expect(complaints).toEqual([]);
  });

  test("a press that comes before the news is refused in the operator's words, and the rest of the page follows", async () => {
    const { page, complaints } = await world.visit("/");
    await prompt(page).fill("SAY: too late");
    await start(page).waitFor();
    // The page has looked just now, and does not look again.
    await page.route("**/api/v1/installation", (route) => route.abort());
    await brake({ intake: "paused", message: "Back at noon." });
    await start(page).press("Enter");
    await page
      .getByRole("alert")
      .getByText(/takes no new runs now, its operator says: Back at noon\./)
      .waitFor();
    await page.unroute("**/api/v1/installation");
    await page.getByText("New runs are not taken now. What you type here stays").waitFor();
    await page.getByRole("alert").waitFor({ state: "detached" });
    expect(await prompt(page).inputValue()).toBe("SAY: too late");
    expect(quiet(complaints).filter((text) => !/ERR_FAILED/.test(text))).toEqual([]);
  });

  test("a run that ended takes no message, one that works does, and read-only takes none", async () => {
    const ended = await world.create(["SAY: over"]);
    await world.call("POST", `/agent/runs/${ended}/cancel`);
    await brake({ intake: "paused" });
    const { page, complaints } = await world.visit(`/runs/${ended}`);
    const message = page.getByRole("textbox", { name: "Message to the agent" });
    const send = page.getByRole("button", { name: "Send", exact: true });
    await page.getByText("This would begin new work, which is not taken now.").waitFor();
    await message.fill("SAY: again");
    expect(await send.isDisabled()).toBe(true);
    const height = "document.documentElement.scrollHeight - document.documentElement.clientHeight";
    expect(await page.evaluate(height)).toBe(0);
    await page.goto(`/runs/${busy}`);
    await message.fill("SAY: go on");
    expect(await send.isEnabled()).toBe(true);
    await brake({ mode: "read_only" });
    await page.getByText("Messages are not taken now. What you type here stays.").waitFor();
    expect(await send.isDisabled()).toBe(true);
    await page.reload();
    await page.getByText("Messages are not taken now.").waitFor();
    expect(await message.inputValue()).toBe("SAY: go on");
    await page.goto(`/runs/${ended}`);
    expect(await message.inputValue()).toBe("SAY: again");
    expect(complaints).toEqual([]);
  });
});

describe("cancelling by filter", () => {
  const dialog = (page: Page) => page.getByRole("dialog");
  const cancelAll = (page: Page) => page.getByRole("button", { name: "Cancel all runs…" });

  test("counts first, asks with the number, and ends only what matches, also in read-only mode", async () => {
    const environment = (await world.call("POST", "/agent/environments", { body: { name: "shop" } })).body;
    const config = { name: "nightly", environment_id: environment.environment_id };
    const [first, second] = [
      await world.create(["SAY: 1"], { config }),
      await world.create(["SAY: 2"], { config }),
    ];
    const other = await world.create(["SAY: 3"], { config: { name: "nightly" } });
    const { page, complaints } = await world.visit(OPERATIONS);
    const form = page.getByRole("form", { name: "Cancel runs" });
    await form.getByLabel("Name").fill("nobody's");
    await cancelAll(page).press("Enter");
    await form.getByText("There is no such run.").waitFor();
    await form.getByLabel("Name").fill("nightly");
    await form.getByLabel("Queued").check();
    await form.getByLabel("Creator").selectOption({ label: "Admin (admin@localhost)" });
    await form.getByLabel("Environment").selectOption("shop");
    await form.getByLabel("Source").selectOption("API");
    await cancelAll(page).press("Enter");
    await dialog(page).getByText("New runs are still taken").waitFor();
    await expectAccessible(page);
    await dialog(page).getByRole("button", { name: "Keep them" }).press("Enter");
    expect((await world.get(first)).state).toBe("QUEUED");
    await brake({ mode: "read_only" });
    await banner(page).getByText("Read-only").waitFor();
    await cancelAll(page).press("Enter");
    await dialog(page).getByRole("button", { name: "Cancel 2 runs" }).press("Enter");
    await dialog(page).getByText("2 runs cancelled, 0 left.").waitFor();
    await dialog(page).getByRole("button", { name: "Done" }).press("Enter");
    expect((await world.get(first)).state).toBe("CANCELLED");
    expect((await world.get(second)).state).toBe("CANCELLED");
    expect((await world.get(other)).state).toBe("QUEUED");
    expect((await world.get(busy)).state).toBe("INPROGRESS");
    expect(complaints).toEqual([]);
  });

  test("of many shows how far it is, can be stopped between batches, and goes on", async () => {
    await brake({ intake: "paused", queue: "paused" });
    await queueMany(410);
    const { page, complaints } = await world.visit(OPERATIONS);
    const form = page.getByRole("form", { name: "Cancel runs" });
    await form.getByLabel("Name").fill("many");
    let calls = 0;
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await page.route("**/api/v1/installation/brake/cancel", async (route) => {
      const isReal = !route.request().postDataJSON().dry_run;
      if (isReal) calls++;
      // The second batch waits until somebody has pressed Stop.
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
    letGo();
    await dialog(page).getByText("400 runs cancelled, 10 left.").waitFor();
    await dialog(page).getByRole("heading", { name: "Not all are cancelled" }).waitFor();
    expect(calls).toBe(2);
    await dialog(page).getByRole("button", { name: "Go on" }).press("Enter");
    await dialog(page).getByText("410 runs cancelled, 0 left.").waitFor();
    await dialog(page).getByRole("heading", { name: "All are cancelled" }).waitFor();
    expect(calls).toBe(3);
    expect(complaints).toEqual([]);
  });
});

test("while a disk is too full for new runs, every page says so, and so does whatever would start one", async () => {
  const full = await startWebWorld({ OUTRIDER_MIN_FREE_MB: "1000000000" });
  try {
    const { page, complaints } = await full.visit("/welcome");
    await banner(page).getByText("New runs are not taken: a disk of the server is short of space.").waitFor();
    await page.getByText("New runs are not taken now. Come back later.").waitFor();
    expect(await page.getByRole("button", { name: "Start the first run" }).isDisabled()).toBe(true);
    await page.goto("/");
    await page.getByText("New runs are not taken now. What you type here stays").waitFor();
    expect(await page.getByRole("button", { name: "Run this" }).isDisabled()).toBe(true);
    expect(complaints).toEqual([]);
  } finally {
    await full.stop();
  }
});

/** Runs that wait, all of one name, as copies of one: more than a batch. */
async function queueMany(count: number) {
  await world.db`
    insert into runs (run_id, title, prompt, state, created_at, updated_at, source, creator_type, creator_uid, key_id,
      config_name, named_by_skill, model_id, agent_config, priority, trace_id)
    select gen_random_uuid(), title, prompt, 'QUEUED', created_at, updated_at, source, creator_type, creator_uid, key_id,
      'many', named_by_skill, model_id, agent_config, priority, trace_id
    from (select * from runs where run_id = ${busy}) r, generate_series(1, ${count})`;
  await world.db`
    insert into run_heads (run_id, state, phase, last_seq, owner_uid, key_id, priority, queued_at)
    select run_id, 'QUEUED', 'queued', 0, creator_uid, key_id, 0, created_at from runs where config_name = 'many'`;
}
