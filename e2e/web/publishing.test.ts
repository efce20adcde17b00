import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type GitHubStub, startGitHubStub } from "../../packages/server/test/forges/github-stub.ts";
import { makePrivateCa } from "../../packages/worker/test/egress/private-ca.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { chooseOption } from "./support/choose-option.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

/** Runs publish through the real server and a real worker to a GitHub with real git repositories. */

const folder = mkdtempSync(join(tmpdir(), "outrider-web-publishing-"));
let stub: GitHubStub;
let app: WebApp;

beforeAll(async () => {
  const { caFile, tls } = makePrivateCa(folder, ["localhost"]);
  stub = await startGitHubStub({ tls: { key: String(tls.key), cert: String(tls.cert) } });
  await stub.addRepository("acme/api");
  const network = { extraCa: caFile, allowedAddresses: "127.0.0.1" };
  app = await startWebApp({ OUTRIDER_EXTRA_CA: caFile, OUTRIDER_ALLOW_ADDRESSES: "127.0.0.1" });
  await app.worker(network);
});
afterAll(async () => {
  await app?.stop();
  await stub?.close();
  rmSync(folder, { recursive: true, force: true });
});

const state = (page: Page, words: string) => page.getByRole("status").filter({ hasText: words }).first();
const change = [
  "WRITE: api/src/sum.ts | export const sum = 1;\\nexport const product = 2;\\n",
  "SAY: Added sum.",
];

async function environment(name: string, publish: object = {}): Promise<string> {
  const { body, text } = await app.call("POST", "/agent/environments", {
    body: { name, repos: [{ url: `${stub.url}/acme/api.git`, path: "api", publish }] },
  });
  expect(body?.environment_id, text).toBeDefined();
  return body.environment_id;
}

async function run(title: string, environment_id: string, script = change): Promise<string> {
  return app.create(script, { title, config: { environment_id, idle_timeout_minutes: 0 } });
}

describe("forges", () => {
  test("an admin connects a forge, tests it and disconnects it", async () => {
    const { page, consoleErrors } = await app.visit("/settings/forges");
    await page.getByRole("heading", { name: "No forge connected" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "GitHub with a token" }).click();
    const dialog = page.getByRole("dialog", { name: "Connect GitHub" });
    await dialog.getByLabel("Address").fill(stub.url);
    await dialog.getByLabel("Access token").fill("not-a-valid-token");
    await dialog.getByRole("button", { name: "Connect" }).click();
    await dialog.getByText(/token/i).last().waitFor();
    await dialog.getByLabel("Access token").fill(stub.token);
    await dialog.getByRole("button", { name: "Connect" }).click();
    await page.getByText("Connected as octocat").waitFor();
    await page.getByRole("heading", { name: new URL(stub.url).host }).waitFor();
    await page.getByText("Not tested yet.").waitFor();

    await page.getByRole("button", { name: /^Test access/ }).click();
    const test = page.getByRole("dialog", { name: /^Test access/ });
    await test.getByLabel("Repository").fill("acme/api");
    await test.getByRole("button", { name: "Test access" }).click();
    await test.getByText("Runs can publish to acme/api.").waitFor();
    await test.getByRole("list", { name: "Steps" }).getByText("Push a scratch branch").waitFor();
    await expectAccessible(page);
    await test.getByRole("button", { name: "Close", exact: true }).last().click();
    await page.getByText("Access works").waitFor();

    await page.getByRole("button", { name: /^Disconnect/ }).click();
    const confirm = page.getByRole("dialog", { name: /^Disconnect/ });
    await confirm.getByText("Branches and pull requests stay").waitFor();
    await confirm.getByRole("button", { name: "Disconnect" }).click();
    await page.getByRole("heading", { name: "No forge connected" }).waitFor();
    expect(consoleErrors.filter((text) => !/status of 4/.test(text))).toEqual([]);
  });

  test("an admin creates a GitHub App, which only this page may send to the forge", async () => {
    const policyOf = async (path: string) =>
      (await fetch(app.origin + path)).headers.get("content-security-policy");
    expect(await policyOf("/settings")).toContain("form-action 'self';");
    const newAppPage = "/settings/forges/github-app/new";
    expect(await policyOf(newAppPage)).toContain("form-action 'self' https://github.com;");
    expect(await policyOf(`${newAppPage}?host=git.example.com`)).toContain(
      "form-action 'self' https://git.example.com;",
    );
    expect(await policyOf(`${newAppPage}?host=${encodeURIComponent("a; script-src *")}`)).toContain(
      "form-action 'self';",
    );

    const { page, consoleErrors } = await app.visit(newAppPage, { theme: "dark" });
    await page.getByRole("heading", { name: "An app at github.com" }).waitFor();
    await page.getByText("GitHub Enterprise").click();
    await page.getByLabel("Address").fill(stub.url);
    await page.getByRole("button", { name: "Use this address" }).click();
    await page.getByRole("heading", { name: `An app at ${new URL(stub.url).host}` }).waitFor();
    const sent: string[] = [];
    await page.route(`${stub.url}/**`, async (route) => {
      const url = new URL(route.request().url());
      const manifest = new URLSearchParams(route.request().postData() ?? "").get("manifest") ?? "{}";
      sent.push(url.pathname, manifest);
      const back = new URL(JSON.parse(manifest).redirect_url);
      back.searchParams.set("code", stub.newManifestCode());
      back.searchParams.set("state", url.searchParams.get("state") ?? "");
      await route.fulfill({
        contentType: "text/html",
        body: `<a id="back" href="${back.href.replaceAll("&", "&amp;")}">Create</a>`,
      });
    });
    await page.getByLabel("Organization").fill("acme");
    await expectAccessible(page);
    await page.getByRole("button", { name: /^Continue to/ }).click();
    await page.locator("#back").click();
    await page.getByRole("heading", { name: "One step left: install the app" }).waitFor();
    expect(sent[0]).toBe("/organizations/acme/settings/apps/new");
    await page.getByRole("link", { name: "Install the app" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("link", { name: "Forges" }).click();
    await page.getByText("GitHub App", { exact: true }).first().waitFor();
    const { forges } = (await app.call("GET", "/agent/forges")).body;
    expect(forges).toMatchObject([{ auth: "app", type: "github" }]);
    for (const { forge_id } of forges) await app.call("DELETE", `/agent/forges/${forge_id}`);
    expect(consoleErrors.filter((text) => !text.startsWith(`outside: ${stub.url}`))).toEqual([]);
  });
});

describe("with a connected forge", () => {
  beforeAll(async () => {
    const { status, text } = await app.call("POST", "/agent/forges", {
      body: { type: "github", url: stub.url, token: stub.token },
    });
    expect(status, text).toBe(201);
  });

  test("a user opens a pull request from the changes of a run, and finds the run by its state", async () => {
    const id = await run("Add a sum", await environment("on-request", { publish: "pull_request" }));
    await app.until(id, "SUCCEEDED");
    const { page, consoleErrors } = await app.visit(`/runs/${id}?tab=changes`);
    await page.getByText("These changes have no pull request yet.").waitFor();
    await page.getByRole("button", { name: "Choose what to create" }).click();
    await page.getByRole("menuitem", { name: "Draft pull request" }).click();
    const dialog = page.getByRole("dialog", { name: "Create pull request" });
    expect(await dialog.getByLabel("Title").inputValue()).toBe("Add a sum");
    expect(await dialog.getByLabel("Description").inputValue()).toContain("Added sum.");
    await dialog.getByLabel("Title").fill("Add sum and product");
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Create pull request" }).click();
    await dialog.waitFor({ state: "detached" });
    await page
      .getByRole("banner")
      .or(page.locator("header"))
      .getByRole("link", { name: /#\d+ Draft/ })
      .first()
      .waitFor();
    await page.getByText(/with a pull request\./).waitFor();
    expect(stub.repositories.get("acme/api")?.pulls.at(-1)).toMatchObject({
      ...{ title: "Add sum and product", draft: true, state: "open" },
    });
    await expectAccessible(page);
    await page.getByRole("link", { name: "Transcript" }).click();
    await page.getByText("Draft pull request opened").waitFor();
    await page.getByRole("link", { name: "Artifacts" }).click();
    await page.getByRole("link", { name: /^Open pull request #/ }).waitFor();

    await page.goto("/runs");
    await page
      .getByRole("row", { name: /Add a sum/ })
      .getByRole("link", { name: /#\d+ Draft/ })
      .waitFor();
    await page.getByRole("button", { name: "Pull request" }).click();
    await page.getByRole("checkbox", { name: "Merged" }).check();
    await page.getByRole("row", { name: /Add a sum/ }).waitFor({ state: "detached" });
    await page.getByRole("checkbox", { name: "Draft" }).check();
    await page.getByRole("row", { name: /Add a sum/ }).waitFor();
    expect(new URL(page.url()).searchParams.get("pull_request")).toBe("merged,draft");
    expect(stub.violations).toEqual([]);
    expect(consoleErrors).toEqual([]);
  });

  test("a user rejects changes with a comment, then approves what the agent does next", async () => {
    const config = { publish: "branch", when: "on_success", approval: "required" };
    const id = await run("Needs approval", await environment("approved", config));
    await app.until(id, "BLOCKED");
    const { page, consoleErrors } = await app.visit("/", { size: "phone", theme: "dark" });
    await page.getByRole("link", { name: "Review Needs approval" }).click();
    const card = page.getByRole("region", { name: "Approve these changes?" });
    await card.getByText("acme/api").waitFor();
    await card.getByText(/1 file/).waitFor();
    await expectAccessible(page);
    await card.getByRole("button", { name: "Reject" }).click();
    await card
      .getByLabel("Comment for the agent")
      .fill("Name it total.\nWRITE: src/total.ts | export const total = 3;\nSAY: I named it total.");
    await card.getByRole("button", { name: "Reject and continue" }).click();
    await card.getByText(/2 files/).waitFor();
    await page.getByRole("link", { name: "Transcript" }).click();
    await page.getByText("Waiting for approval").waitFor();
    expect(await page.getByRole("textbox", { name: "Your answer" }).count()).toBe(0);
    await card.getByRole("button", { name: "Approve and push" }).click();
    await state(page, "Succeeded").waitFor();
    await page.getByText(/^Pushed/).waitFor();
    await page.getByText(/Admin approved/).waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("a refused publication says why", async () => {
    const script = ["WRITE: .github/workflows/ci.yml | on: push\\n", "SAY: Added a workflow."];
    const id = await run("Refused", await environment("refused", { when: "on_success" }), script);
    await app.until(id, "SUCCEEDED");
    const { page, consoleErrors } = await app.visit(`/runs/${id}?tab=changes`);
    await page.getByText("The pull request was not opened.").waitFor();
    await page
      .getByRole("region", { name: "Publish changes" })
      .getByText(/\.github\/workflows/)
      .first()
      .waitFor();
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);
  });

  test("comments on lines are collected and become one follow-up", async () => {
    const id = await run("To be reviewed", await environment("reviewed", { publish: "none" }));
    await app.until(id, "SUCCEEDED");
    const { page, consoleErrors } = await app.visit(`/runs/${id}?tab=changes`);
    const file = page.getByRole("region", { name: "Changes in api/src/sum.ts" });
    await file.getByRole("button", { name: "Comment on line 1", exact: true }).focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.keyboard.type("Why two?");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("region", { name: "Comments" }).getByText("1 comment").waitFor();
    await file.getByText("export const sum").hover();
    await file.getByRole("button", { name: "Comment on line 1", exact: true }).click();
    await file.getByLabel("Comment", { exact: true }).fill("Name it total.");
    await expectAccessible(page);
    await file.getByRole("button", { name: "Add comment" }).click();
    await page.reload();
    const bar = page.getByRole("region", { name: "Comments" });
    await bar.getByText("2 comments").waitFor();
    await file.getByText("Why two?").waitFor();
    await bar.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("button", { name: "Keep" }).click();
    await bar.getByRole("button", { name: "Send as follow-up" }).click();
    await bar.waitFor({ state: "detached" });
    const messages = await vi.waitUntil(async () => {
      const found = (await app.events(id)).filter(({ type }) => type === "message.user");
      return found.length > 0 && found;
    }, waitOptions);
    expect(messages.map(({ data }) => data.text)).toEqual([
      `Please address these 2 comments on your changes.

api/src/sum.ts, line 1:
> export const sum = 1;

Name it total.

api/src/sum.ts, line 2:
> export const product = 2;

Why two?`,
    ]);
    expect(consoleErrors).toEqual([]);
  });

  test("an environment's policy is edited, and a run says what to publish", async () => {
    const id = await environment("edited");
    const { page, consoleErrors } = await app.visit(`/environments/${id}`);
    await page.getByText("Publish · Draft pull requests, on request").click();
    await chooseOption(page.getByLabel("Runs may publish"), "pull_request");
    await chooseOption(page.getByLabel("Approval", { exact: true }), "required");
    await page.getByLabel("Branch prefix").fill("../bad");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText(/^Branch prefix must be the beginning/).waitFor();
    await page.getByLabel("Branch prefix").fill("bot/");
    await page.getByText("Advanced").click();
    await chooseOption(page.getByLabel("Sign-off"), "add");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText("All changes saved").waitFor();
    const stored = (await app.call("GET", `/agent/environments/${id}`)).body.repos[0].publish;
    expect(stored).toEqual({
      ...{ publish: "pull_request", approval: "required", branch_prefix: "bot/", sign_off: true },
    });
    await page.goto("/?prompt=SAY:%20hello");
    await chooseOption(page.getByRole("combobox", { name: "Environment" }), id);
    await page.getByRole("button", { name: /^Options/ }).click();
    await chooseOption(page.getByLabel("Publish", { exact: true }), "branch");
    await page.getByRole("button", { name: "Start run" }).click();
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
    expect((await app.get(page.url().slice(-36))).agent_config.publish).toBe("branch");
    expect(consoleErrors).toEqual([]);
  });

  test("the changes of a run say which forge is missing, and admins get a link to connect it", async () => {
    const id = await run("No forge", await environment("no-forge"));
    await app.until(id, "SUCCEEDED");
    const { forges } = (await app.call("GET", "/agent/forges")).body;
    for (const { forge_id } of forges) await app.call("DELETE", `/agent/forges/${forge_id}`);
    const { page, consoleErrors } = await app.visit(`/runs/${id}?tab=changes`);
    await page.getByText(/^No forge is connected for 127\.0\.0\.1/).waitFor();
    expect(await page.getByRole("button", { name: "Create pull request" }).count()).toBe(0);
    await page.getByRole("link", { name: "Open forge settings" }).click();
    await page.getByRole("heading", { name: "No forge connected" }).waitFor();
    expect(consoleErrors).toEqual([]);
  });
});
