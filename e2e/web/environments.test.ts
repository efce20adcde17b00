import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeFolder, Origin } from "../../packages/worker/test/repositories/git-server.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;
let repositories: ReturnType<typeof makeFolder>;
let site: Origin;

beforeAll(async () => {
  repositories = makeFolder();
  site = new Origin(repositories.folder, "site");
  site.push("main", { "README.md": "hello from the site\n" });
  app = await startWebApp();
  // One test leaves a build running, so the worker must not wait for it.
  await app.worker({ repositoryPaths: [repositories.folder], drainMs: 100 });
});
afterAll(async () => {
  await app?.stop();
  repositories.remove();
});

async function make(body: object): Promise<string> {
  const reply = await app.call("POST", "/agent/environments", { body });
  expect(reply.status).toBe(201);
  return reply.body.environment_id;
}
const stored = async (id: string) => (await app.call("GET", `/agent/environments/${id}`)).body;

describe("environments", () => {
  test("creates an environment and builds it with a live log", async () => {
    const { page, consoleErrors } = await app.visit("/environments");
    await page.getByRole("heading", { name: "No environments yet" }).waitFor();
    await page.getByRole("link", { name: "New environment" }).click();
    await page.getByLabel("Name", { exact: true }).fill("site");
    await page.getByLabel("Repository 1", { exact: true }).fill(`file://${site.bare}`);
    await page
      .getByLabel("Command 1", { exact: true })
      .fill("echo one > made\nprintf '\\033[32mall is made\\033[0m\\n'");
    await page.getByRole("button", { name: "Add variable" }).click();
    await page.keyboard.type("GREETING");
    await page.getByLabel("Value 1", { exact: true }).fill("good day");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Create environment" }).click();

    await page.getByRole("heading", { name: "Not built yet" }).waitFor();
    await page.getByRole("button", { name: "Build now" }).click();
    const build = page.getByRole("region", { name: "Build" });
    await build.getByText("Ready").waitFor();
    await build.getByText(site.run("rev-parse", "HEAD").slice(0, 12), { exact: true }).waitFor();
    await build.getByRole("button", { name: /finished: echo one/ }).click();
    await build.getByText("all is made", { exact: true }).waitFor();
    await expectAccessible(page);

    expect(consoleErrors).toEqual([]);
  });

  test("fills in what lock files suggest, and undoes it", async () => {
    const locked = new Origin(repositories.folder, "locked");
    locked.push("main", { "package-lock.json": "{}", ".nvmrc": "22", "tools/go.mod": "module a" });
    const { page, consoleErrors } = await app.visit("/environments/new", { size: "phone" });
    const proposing = page.getByRole("button", { name: "Propose settings" });
    const repository = page.getByLabel("Repository 1", { exact: true });
    const image = page.getByRole("textbox", { name: /^Image/ });
    expect(await proposing.isDisabled()).toBe(true);
    await repository.fill(`file://${locked.bare}`);
    await page.getByLabel("Command 1", { exact: true }).fill("make");
    await proposing.click();
    await page.getByText("Filled in from the repository. Check the fields below.").waitFor();
    await page.getByText(".nvmrc names Node.js 22.").waitFor();
    await page.getByText(/needs Go, which node:22-bookworm does not contain/).waitFor();
    expect(await image.inputValue()).toBe("node:22-bookworm");
    expect(await page.getByLabel("Command 1", { exact: true }).inputValue()).toBe("make");
    expect(await page.getByLabel("Command 2", { exact: true }).inputValue()).toBe("npm ci");
    expect(await page.getByLabel("Domain 1", { exact: true }).inputValue()).toBe("preset:npm");
    await expectAccessible(page);

    await page.getByRole("button", { name: "Undo" }).click();
    expect(await image.inputValue()).toBe("");
    expect(await page.getByLabel("Command 2", { exact: true }).count()).toBe(0);
    expect(await page.getByRole("radio", { name: /^No network/ }).isChecked()).toBe(true);

    const described = new Origin(repositories.folder, "described");
    described.push("main", { Dockerfile: "FROM debian:12\n" });
    await repository.fill(`file://${described.bare}`);
    await proposing.click();
    await page.getByText("Filled in from the repository.").waitFor();
    const dockerfile = page.getByRole("textbox", { name: /^Dockerfile/ });
    expect([await dockerfile.inputValue(), await image.isDisabled()]).toEqual(["Dockerfile", true]);
    await page.getByRole("button", { name: "Undo" }).click();
    expect([await dockerfile.inputValue(), await image.isDisabled()]).toEqual(["", false]);

    await repository.fill(`file://${site.bare}`);
    await proposing.click();
    await page.getByText("No lock files found, so nothing was filled in.").waitFor();
    await page.getByLabel("Branch, tag or commit").fill("nope");
    await proposing.click();
    await page.getByRole("alert").getByText("The repository could not be read").waitFor();
    await expectAccessible(page);

    await repository.fill(`file://${locked.bare}`);
    await page.getByLabel("Branch, tag or commit").fill("");
    await proposing.click();
    await page.getByText(".nvmrc names Node.js 22.").waitFor();
    // A second proposal replaces the first one.
    locked.push("main", { ".nvmrc": "24", "pnpm-lock.yaml": "" });
    await proposing.click();
    await page.getByText(".nvmrc names Node.js 24.").waitFor();
    expect(await page.getByLabel("Command 3", { exact: true }).inputValue()).toContain("pnpm install");
    expect(await page.getByLabel("Command 4", { exact: true }).count()).toBe(0);
    await page.getByLabel("Name", { exact: true }).fill("proposed");
    await page.getByRole("button", { name: "Create environment" }).click();
    await page.getByRole("heading", { name: "proposed" }).waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1) as string;
    expect(await stored(id)).toMatchObject({
      docker_image: "node:24-bookworm",
      setup_commands: ["make", "npm install --global 'pnpm@10'", "pnpm install --frozen-lockfile"],
      network: { mode: "allowlist", allow: ["preset:npm"] },
    });
    expect(consoleErrors).toEqual([]);
  });

  test("shows a test run live and links to its page", async () => {
    const id = await make({
      name: "tried",
      repos: [{ url: `file://${site.bare}` }],
      setup_commands: ["echo one > made"],
      variables: { GREETING: "good day" },
    });
    const { page, consoleErrors } = await app.visit(`/environments/${id}?tab=test`, { theme: "dark" });
    await expect.poll(() => page.getByLabel("Prompt").inputValue(), waitOptions).toContain("RUN: pwd");
    await page.getByLabel("Prompt").fill('RUN: cat README.md made; echo "$GREETING"\nSAY: That is all.');
    await page.getByRole("button", { name: "Start test run" }).click();
    const run = page.getByRole("region", { name: "Test run" });
    await run.getByText("Succeeded").waitFor();
    await run.getByText(/hello from the site\s+one\s+good day/).waitFor();
    await run.getByText("That is all.").waitFor();
    await expectAccessible(page);
    await run.getByRole("link", { name: "Open run" }).click();
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
    expect(consoleErrors).toEqual([]);
  });

  test("expands the failed step of a build and says what to do", async () => {
    const id = await make({ name: "broken", setup_commands: ["true", "echo no such tool >&2; exit 3"] });
    const { page, consoleErrors } = await app.visit(`/environments/${id}?tab=builds`);
    await page.getByRole("button", { name: "Build now" }).click();
    const build = page.getByRole("region", { name: "Build" });
    await build.getByRole("alert").getByText("Step 2 failed with exit code 3").waitFor();
    await build.getByRole("alert").getByText("fix the command").waitFor();
    await build.getByRole("alert").getByText(`outrider env shell ${id}`).waitFor();
    await build.getByText("exit 3", { exact: true }).waitFor();
    await build.getByText("no such tool", { exact: true }).waitFor();
    await expectAccessible(page);
    await build.getByRole("link", { name: "Edit configuration" }).click();
    await page.getByLabel("Command 2", { exact: true }).fill("echo mended");
    await page.keyboard.press("Control+Enter");
    await page.getByText("All changes saved").waitFor();
    expect(await stored(id)).toMatchObject({ version: 2, setup_commands: ["true", "echo mended"] });
    expect(consoleErrors).toEqual([]);
  });

  test("streams the log of a running command", async () => {
    const id = await make({ name: "slow", setup_commands: ["echo begun; sleep 600"] });
    const { page, consoleErrors } = await app.visit(`/environments/${id}?tab=builds`);
    await page.getByRole("button", { name: "Build now" }).click();
    const build = page.getByRole("region", { name: "Build" });
    await build.getByText("begun", { exact: true }).waitFor();
    await build.getByText("Building").waitFor();
    expect(consoleErrors).toEqual([]);
  });
});
