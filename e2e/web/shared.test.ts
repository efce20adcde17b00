import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { longSleep, waitForSleep } from "../../packages/worker/test/installation.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { chooseOption } from "./support/choose-option.ts";
import { expectAccessible, startWebApp, type Visitor, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
  await app.worker();
});
afterAll(() => app?.stop());

/** Collects the paths that a page requests, except the app's own files and the probe of the connection. */
function requestsOf({ page }: Visitor): string[] {
  const requests: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (!/^\/(assets\/|favicon|theme\.js|healthz$)/.test(pathname)) requests.push(pathname);
  });
  return requests;
}

const linkOf = async (run: string) =>
  (await app.call("POST", `/agent/runs/${run}/share`, { body: {} })).body.link as string;

test("shares a run with a signed-out browser, then replaces and revokes the link", async () => {
  const { command, mark } = longSleep();
  const run = await app.create([
    "WRITE: src/secretless.ts | export const shared = true;\\n",
    "SAY: Words for everybody.",
    `RUN: ${command}`,
    "SAY: The end.",
  ]);
  const owner = await app.visit(`/runs/${run}`);
  await waitForSleep(mark);
  await owner.page.getByRole("button", { name: "Share" }).click();
  const dialog = owner.page.getByRole("dialog", { name: "Share this run" });
  await chooseOption(dialog.getByRole("combobox", { name: "Link expires after" }), "1 day");
  await dialog.getByRole("button", { name: "Create link" }).click();
  const field = dialog.getByRole("textbox", { name: "Link" });
  const link = await field.inputValue();
  await expectAccessible(owner.page);
  await dialog.getByRole("button", { name: "Copy link" }).click();
  expect(await owner.page.evaluate("navigator.clipboard.readText()")).toBe(link);

  const stranger = await app.visit("/favicon.svg", { signedIn: false, size: "phone", theme: "dark" });
  const requests = requestsOf(stranger);
  const { page } = stranger;
  await page.goto(link);
  await page.getByText("Shared run, read-only. The link expires tomorrow.").waitFor();
  await page.getByText("Words for everybody.", { exact: true }).waitFor();
  await page.getByRole("status").filter({ hasText: "Working" }).first().waitFor();
  expect(await page.getByRole("form").count()).toBe(0);
  expect(await page.getByRole("link", { name: "Home" }).count()).toBe(0);
  expect(await page.locator("meta[name=robots]").getAttribute("content")).toBe("noindex");
  await expectAccessible(page);

  // The page updates live.
  await app.followUp(run, ["SAY: Steered meanwhile."], { mode: "interrupt" });
  await page.getByText("The end.").first().waitFor();
  await page.getByRole("status").filter({ hasText: "Succeeded" }).first().waitFor();
  await page.getByRole("link", { name: "Changes" }).click();
  await page
    .getByRole("region", { name: "Changes in src/secretless.ts" })
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
  expect(requests.filter((address) => !address.startsWith(path))).toEqual([]);

  await dialog.getByRole("button", { name: "Replace link" }).click();
  await vi.waitUntil(async () => (await field.inputValue()) !== link, waitOptions);
  await page.reload();
  await page.getByRole("heading", { name: "This link is not valid" }).waitFor();
  await expectAccessible(page);
  const second = await field.inputValue();
  await page.goto(second);
  await page.getByText("Words for everybody.", { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Revoke link" }).click();
  await dialog.getByRole("button", { name: "Create link" }).waitFor();
  expect((await fetch(second)).status).toBe(404);
  expect(owner.consoleErrors).toEqual([]);
  expect(stranger.consoleErrors.filter((text) => !text.includes("404"))).toEqual([]);
});

test("says that the link is not valid when it is revoked while open", async () => {
  const { command, mark } = longSleep();
  const run = await app.create(["SAY: Read this.", `RUN: ${command}`]);
  const { page } = await app.visit(await linkOf(run), { signedIn: false });
  await waitForSleep(mark);
  await page.getByText("Read this.", { exact: true }).waitFor();
  await app.call("DELETE", `/agent/runs/${run}/share`);
  await page.getByRole("heading", { name: "This link is not valid" }).waitFor();
  expect(await page.getByText("Read this.").count()).toBe(0);
  await app.call("POST", `/agent/runs/${run}/cancel`);
});
