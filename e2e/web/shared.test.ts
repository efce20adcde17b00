import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { asleep, longSleep } from "../../packages/worker/test/world.ts";
import { expectAccessible, startWebWorld, type Visitor, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld();
  await world.worker();
});
afterAll(() => world?.stop());

/** What a browser asks for besides the app's own files. */
function askedBy({ page }: Visitor): string[] {
  const asked: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (!/^\/(assets\/|favicon|theme\.js)/.test(pathname)) asked.push(pathname);
  });
  return asked;
}

const linkOf = async (run: string) =>
  (await world.call("POST", `/agent/runs/${run}/share`, { body: {} })).body.link as string;

test("a run is shared, read in a signed-out browser, replaced and ended", async () => {
  const { command, mark } = longSleep();
  const run = await world.create([
    "WRITE: src/secretless.ts | export const shared = true;\\n",
    "SAY: Words for everybody.",
    `RUN: ${command}`,
    "SAY: The end.",
  ]);
  const owner = await world.visit(`/runs/${run}`);
  await asleep(mark);
  await owner.page.getByRole("button", { name: "Share" }).click();
  const dialog = owner.page.getByRole("dialog", { name: "Share this run" });
  await dialog.getByRole("combobox", { name: "The link ends after" }).selectOption("1 day");
  await dialog.getByRole("button", { name: "Make a link" }).click();
  const field = dialog.getByRole("textbox", { name: "Link" });
  const link = await field.inputValue();
  await expectAccessible(owner.page);
  await dialog.getByRole("button", { name: "Copy link" }).click();
  expect(await owner.page.evaluate("navigator.clipboard.readText()")).toBe(link);

  const stranger = await world.visit("/favicon.svg", { signedIn: false, size: "phone", theme: "dark" });
  const asked = askedBy(stranger);
  const { page } = stranger;
  await page.goto(link);
  await page.getByText("A shared run, to read only. The link ends tomorrow.").waitFor();
  await page.getByText("Words for everybody.", { exact: true }).waitFor();
  await page.getByRole("status").filter({ hasText: "Working" }).first().waitFor();
  expect(await page.getByRole("form").count()).toBe(0);
  expect(await page.getByRole("link", { name: "Home" }).count()).toBe(0);
  expect(await page.locator("meta[name=robots]").getAttribute("content")).toBe("noindex");
  await expectAccessible(page);

  // It goes on while they read.
  await world.followUp(run, ["SAY: Steered meanwhile."], { mode: "interrupt" });
  await page.getByText("The end.").first().waitFor();
  await page.getByRole("status").filter({ hasText: "Succeeded" }).first().waitFor();
  await page.getByRole("link", { name: "Changes" }).click();
  await page
    .getByRole("region", { name: "Changes of src/secretless.ts" })
    .getByText("shared")
    .first()
    .waitFor();
  await expectAccessible(page);
  await page.getByRole("link", { name: "Artifacts" }).click();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page
      .getByRole("link", { name: /^Download/ })
      .first()
      .click(),
  ]);
  expect(await readFile(await file.path(), "utf8")).toContain("export const shared = true;");
  const path = new URL(link).pathname;
  expect(asked.filter((address) => !address.startsWith(path))).toEqual([]);

  await dialog.getByRole("button", { name: "Replace the link" }).click();
  await vi.waitUntil(async () => (await field.inputValue()) !== link, { timeout: 10_000 });
  await page.reload();
  await page.getByRole("heading", { name: "This link opens nothing" }).waitFor();
  await expectAccessible(page);
  const second = await field.inputValue();
  await page.goto(second);
  await page.getByText("Words for everybody.", { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "End the link" }).click();
  await dialog.getByRole("button", { name: "Make a link" }).waitFor();
  expect((await fetch(second)).status).toBe(404);
  expect(owner.complaints).toEqual([]);
  expect(stranger.complaints.filter((text) => !text.includes("404"))).toEqual([]);
});

test("a link that ends while somebody reads says so", async () => {
  const { command, mark } = longSleep();
  const run = await world.create(["SAY: Read this.", `RUN: ${command}`]);
  const { page } = await world.visit(await linkOf(run), { signedIn: false });
  await asleep(mark);
  await page.getByText("Read this.", { exact: true }).waitFor();
  await world.call("DELETE", `/agent/runs/${run}/share`);
  await page.getByRole("heading", { name: "This link opens nothing" }).waitFor();
  expect(await page.getByText("Read this.").count()).toBe(0);
  await world.call("POST", `/agent/runs/${run}/cancel`);
});
