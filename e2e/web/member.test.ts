import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { invite, signInByLink } from "./support/users.ts";
import { expectAccessible, startWebApp, type Visitor, type WebApp } from "./support/web-app.ts";

let app: WebApp;
let member: Visitor;
let run: string;
let environment: string;

/** The requests that the server refused because of the user's role. */
const refused: string[] = [];

beforeAll(async () => {
  app = await startWebApp();
  await app.worker();
  const created = await app.call("POST", "/agent/environments", { body: { name: "shop" } });
  environment = created.body.environment_id;
  await app.call("PUT", "/agent/secrets/TOKEN", { body: { value: "a secret value" } });
  await app.call("POST", "/agent/identities", { body: { name: "release-bot" } });
  run = await app.create(["SAY: somebody else's run"], { title: "Of the admin" });
  await app.until(run, "SUCCEEDED");
  const link = await invite(app, "member@example.com", "Mem Ber");
  member = await app.visit(link.slice(app.origin.length), { signedIn: false });
  await signInByLink(member.page);
  await member.page.waitForURL(/\/(welcome)?$/);
  member.page.on("response", (response) => {
    if (response.status() === 403) refused.push(`${response.request().method()} ${response.url()}`);
  });
});
afterAll(() => app?.stop());

async function settled(page: Page) {
  await page.locator("main").first().waitFor();
  await page.waitForLoadState("networkidle").catch(() => {});
  expect(await page.getByText("You don't have permission").count()).toBe(0);
}

/** The buttons and links that would end in a refusal. */
const forAdmins =
  /^(New environment|Create environment|Save changes|New secret|Add secret|Invite|Connect|Add worker|Add provider|Set restrictions|Cancel runs|Duplicate|Delete|Share|Cancel run|Retry|Edit)\b/;

describe("a member's view", () => {
  test.each([
    ["/"],
    ["/welcome"],
    ["/runs"],
    ["/environments"],
    ["/environments/ENVIRONMENT"],
    ["/environments/ENVIRONMENT?tab=builds"],
    ["/environments/ENVIRONMENT?tab=test"],
    ["/skills"],
    ["/agents"],
    ["/keys"],
    ["/runs/RUN"],
    ["/runs/RUN?tab=changes"],
    ["/settings"],
    ["/settings?section=models"],
    ["/settings?section=harnesses"],
    ["/settings?section=limits"],
    ["/secrets"],
    ["/insights"],
  ])("of %s sends no request and offers no button that is refused", async (address) => {
    const { page } = member;
    refused.length = 0;
    await page.goto(address.replace("ENVIRONMENT", environment).replace("RUN", run));
    await settled(page);
    const names = await page
      .locator("main")
      .getByRole("button")
      .or(page.locator("main").getByRole("link"))
      .allInnerTexts();
    expect(names.filter((name) => forAdmins.test(name.trim()))).toEqual([]);
    expect(refused).toEqual([]);
  });

  test.each([
    "/environments/new",
    "/settings?section=users",
    "/settings?section=operations",
    "/workers",
    "/settings/forges/github-app/new",
  ])("of %s explains that only admins can use it", async (address) => {
    const { page } = member;
    refused.length = 0;
    await page.goto(address);
    await page.getByRole("heading", { name: /^Only admins can open this/ }).waitFor();
    await expectAccessible(page);
    expect(refused).toEqual([]);
  });
});
