import { randomUUID } from "node:crypto";
import { addUser } from "@outrider/server/engine/operations/bootstrap";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { chooseOption } from "./support/choose-option.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

async function make(body: object): Promise<string> {
  const reply = await app.call("POST", "/agent/environments", { body });
  expect(reply.status).toBe(201);
  return reply.body.environment_id;
}
const stored = async (id: string) => (await app.call("GET", `/agent/environments/${id}`)).body;

describe("environment form", () => {
  test("shows API errors at their fields and keeps what was typed", async () => {
    const id = await make({ name: "fields" });
    const { page, consoleErrors } = await app.visit(`/environments/${id}`);
    await page.getByRole("button", { name: "Add repository" }).click();
    await page.getByLabel("Repository 1", { exact: true }).fill("not an address");
    await page.getByRole("radio", { name: /Only these domains/ }).check();
    await page.getByLabel("Domain 1", { exact: true }).fill("https://example.com/");
    await page.getByLabel("Memory (MB)").fill("1");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("alert").getByText("3 fields need attention").waitFor();
    await page.getByText("Memory must be at least 64.", { exact: true }).waitFor();
    await page
      .getByText('Domain 1 must be a domain without a scheme and path, not "https://example.com/".')
      .waitFor();
    for (const label of ["Repository 1", "Domain 1", "Memory (MB)"]) {
      expect(await page.getByLabel(label, { exact: true }).getAttribute("aria-invalid")).toBe("true");
    }
    await page.getByLabel("Repository 1", { exact: true }).and(page.locator(":focus")).waitFor();
    expect(await page.getByLabel("Domain 1", { exact: true }).inputValue()).toBe("https://example.com/");
    await expectAccessible(page);
    await page.getByLabel("Repository 1", { exact: true }).fill("acme/site");
    await page.getByLabel("Domain 1", { exact: true }).fill("*.example.com");
    await page.getByLabel("Memory (MB)").fill("512");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText("All changes saved").waitFor();
    expect(await stored(id)).toMatchObject({
      repos: [{ owner: "acme", repo: "site" }],
      network: { mode: "allowlist", allow: ["*.example.com"] },
      resources: { memory_mb: 512 },
    });
    // The browser logs each rejected request.
    expect(consoleErrors.filter((each) => !each.includes("400 (Bad Request)"))).toEqual([]);
  });

  test("selects workers by pool and labels, to which a run adds its own", async () => {
    const { page, consoleErrors } = await app.visit("/environments/new");
    await page.getByLabel("Name", { exact: true }).fill("placed");
    await page.getByLabel("Worker pool").fill("gpu pool");
    await page.getByLabel("Worker labels").fill("region=eu, gpu");
    await page.getByRole("button", { name: "Create environment" }).click();
    await page.getByText(/^Worker pool must be 1 to 63 letters/).waitFor();
    await page.getByLabel("Worker pool").fill("gpu");
    await page.getByLabel("Worker labels").fill("region=eu west, gpu");
    await page.getByRole("button", { name: "Create environment" }).click();
    await page.getByText(/^Worker labels .* must be a label value/).waitFor();
    expect(await page.getByLabel("Worker labels").inputValue()).toBe("region=eu west, gpu");
    await page.getByLabel("Worker labels").fill("region=eu, gpu");
    await page.getByRole("button", { name: "Create environment" }).click();
    await page.getByRole("heading", { name: "placed" }).waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1) as string;
    expect(await stored(id)).toMatchObject({
      worker_host: "gpu",
      worker_selector: { region: "eu", gpu: "true" },
    });
    await page.reload();
    expect(await page.getByLabel("Worker labels").inputValue()).toBe("gpu, region=eu");

    await page.goto("/");
    await page.getByRole("textbox", { name: "What should the agent do?" }).fill("SAY: hello");
    await chooseOption(page.getByRole("combobox", { name: "Environment" }), "placed");
    await page.getByRole("button", { name: /^Options/ }).click();
    await page.getByLabel("Worker pool").fill("large");
    await page.getByLabel("Worker labels").fill("region=us");
    // A worker of the default pool is connected.
    await app.db`insert into workers (worker_id, name, version, slots) values (${randomUUID()}, 'w', '0', 1)`;
    await page.getByRole("button", { name: "Start run" }).click();
    await page.waitForURL(/\/runs\//);
    const { agent_config, queue } = await app.get(page.url().split("/").at(-1) as string);
    expect(agent_config).toMatchObject({
      worker_host: "large",
      worker_selector: { region: "us", gpu: "true" },
    });
    expect(queue).toMatchObject({ reason: "no_matching_worker" });
    await page
      .getByText(/No connected worker of the pool .*large.* has the labels .*gpu=true.*region=us/)
      .waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("shows an error at its row even if empty rows precede it", async () => {
    const { page, consoleErrors } = await app.visit("/environments/new");
    await page.getByLabel("Name", { exact: true }).fill("rows");
    for (const name of ["", "COLOR", "COLOR", "1ST"]) {
      await page.getByRole("button", { name: "Add variable" }).click();
      await page
        .getByLabel(/^Name \d$/)
        .last()
        .fill(name);
    }
    await page.getByRole("radio", { name: /Only these domains/ }).check();
    await page.getByRole("button", { name: "Create environment" }).click();
    await page.getByText("Name 2 is repeated; remove one of them.", { exact: true }).waitFor();
    await page.getByText(/^Name 4 has an invalid name/).waitFor();
    await page.getByText(/^Domain 1 is required/).waitFor();
    await page.getByRole("button", { name: "Remove variable 3" }).click();
    await page.getByLabel("Name 3", { exact: true }).fill("FIRST");
    await page.getByLabel("Value 3", { exact: true }).fill(" spaces ");
    await page.getByLabel("Domain 1", { exact: true }).fill("example.com");
    await page.getByRole("button", { name: "Create environment" }).click();
    await page.getByRole("heading", { name: "rows" }).waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1) as string;
    const environment = await stored(id);
    expect(environment).toMatchObject({
      variables: { COLOR: "", FIRST: " spaces " },
      network: { mode: "allowlist", allow: ["example.com"] },
    });
    expect(environment.resources).toBeUndefined();
    expect(consoleErrors).toEqual([]);
  });

  test.each([
    ["light", "desktop"],
    ["dark", "phone"],
  ] as const)("keeps the buttons of a row in place when it shows an error (%s, %s)", async (theme, size) => {
    const { page } = await app.visit("/environments/new", { theme, size });
    await page.getByLabel("Name", { exact: true }).fill("steady");
    await page.getByRole("button", { name: "Add variable" }).click();
    for (const command of ["one", "two"]) {
      await page.getByRole("button", { name: "Add command" }).click();
      await page
        .getByLabel(/^Command \d$/)
        .last()
        .fill(command);
    }
    await page.getByLabel("Name 1", { exact: true }).fill("1ST");
    await page.getByLabel("Command 2", { exact: true }).fill("x".repeat(8_193));
    const button = (name: string) => page.getByRole("button", { name });
    // Positions relative to the control, because the page scrolls to the first error.
    const offset = async (label: string, name: string) => {
      const control = await page.getByLabel(label, { exact: true }).boundingBox();
      const box = await button(name).boundingBox();
      return { x: (box?.x ?? 0) - (control?.x ?? 0), y: (box?.y ?? 0) - (control?.y ?? 0) };
    };
    const offsets = () =>
      Promise.all([
        offset("Name 1", "Remove variable 1"),
        offset("Command 2", "Move command 2 up"),
        offset("Command 2", "Remove command 2"),
      ]);
    const before = await offsets();
    expect(before.map(({ y }) => y)).toEqual([0, 0, 0]);
    await button("Create environment").click();
    await page.getByText(/^Name 1 has an invalid name/).waitFor();
    await page.getByText(/^Command 2 must have at most/).waitFor();
    expect(await offsets()).toEqual(before);
  });

  test("reorders rows by keyboard and keeps the focus on the row", async () => {
    const id = await make({ name: "ordered", setup_commands: ["first", "second", "third"] });
    const { page, consoleErrors } = await app.visit(`/environments/${id}`);
    await page.getByRole("button", { name: "Move command 3 up" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    // The first row cannot move up, so the focus goes to the button that moves it down.
    const focused = () => page.evaluate("document.activeElement.getAttribute('aria-label')");
    expect(await focused()).toBe("Move command 1 down");
    await page.getByRole("button", { name: "Remove command 3" }).press("Enter");
    expect(await focused()).toBe("Remove command 2");
    await page.keyboard.press("Control+Enter");
    await page.getByText("All changes saved").waitFor();
    expect((await stored(id)).setup_commands).toEqual(["third", "first"]);
    expect(consoleErrors).toEqual([]);
  });

  test("asks before discarding changes, and keeps them when switching tabs", async () => {
    const id = await make({ name: "guarded" });
    const { page, consoleErrors } = await app.visit(`/environments/${id}`);
    await page.getByLabel("Description").fill("half a thought");
    await page.getByRole("link", { name: "Builds" }).click();
    await page.getByRole("heading", { name: "Nothing to build" }).waitFor();
    await page.getByRole("link", { name: /Configuration/ }).click();
    expect(await page.getByLabel("Description").inputValue()).toBe("half a thought");
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await page.getByRole("dialog", { name: "Leave without saving?" }).waitFor();
    await page.getByRole("button", { name: "Stay" }).click();
    expect(await page.getByLabel("Description").inputValue()).toBe("half a thought");
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await page.getByRole("button", { name: "Leave" }).click();
    await page.waitForURL("**/runs");
    expect((await stored(id)).description).toBeUndefined();
    expect(consoleErrors).toEqual([]);
  });

  test("duplicates an environment, and shows what uses it before deleting it", async () => {
    const id = await make({ name: "twin", description: "of two", setup_commands: ["true"] });
    await app.call("POST", "/agent/identities", { body: { name: "nightly-bot", environment_id: id } });
    const { page, consoleErrors } = await app.visit(`/environments/${id}`, { theme: "dark", size: "phone" });
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Duplicate" }).click();
    await expect
      .poll(() => page.getByLabel("Name", { exact: true }).inputValue(), waitOptions)
      .toBe("twin copy");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Create environment" }).click();
    await page.getByRole("heading", { name: "twin copy" }).waitFor();
    await page.goto(`/environments/${id}`);
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete twin?" });
    await dialog.getByText("nightly-bot").waitFor();
    await dialog.getByText("No unfinished runs use it.").waitFor();
    await dialog.getByRole("button", { name: "Delete environment" }).click();
    await page.waitForURL("**/environments");
    await vi.waitUntil(
      async () => (await page.getByRole("link", { name: "twin", exact: true }).count()) === 0,
      waitOptions,
    );
    await page.getByRole("link", { name: "twin copy" }).waitFor();
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);
  });

  test("saves start commands, and secrets for runs and for setup commands separately", async () => {
    for (const name of ["API_TOKEN", "NPM_TOKEN"])
      await app.call("PUT", `/agent/secrets/${name}`, { body: { value: "long enough" } });
    const id = await make({ name: "secrets", build_secrets: ["API_TOKEN"] });
    const { page } = await app.visit(`/environments/${id}`);
    const runs = page.getByRole("group", { name: "For runs" });
    const setup = page.getByRole("group", { name: "For setup commands" });
    expect(await setup.getByRole("checkbox", { name: "API_TOKEN" }).isChecked()).toBe(true);
    await runs.getByRole("checkbox", { name: "API_TOKEN" }).check();
    await setup.getByRole("checkbox", { name: "NPM_TOKEN" }).check();
    await page.getByRole("button", { name: "Add start command" }).click();
    await page.getByLabel("Start command 1", { exact: true }).fill("redis-server --daemonize yes");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText("All changes saved").waitFor();
    expect(await stored(id)).toMatchObject({
      secrets: ["API_TOKEN"],
      build_secrets: ["API_TOKEN", "NPM_TOKEN"],
      start_commands: ["redis-server --daemonize yes"],
    });
  });

  test("saves an image with its credentials and user, or a devcontainer", async () => {
    await app.call("PUT", "/agent/secrets/REGISTRY_LOGIN", { body: { value: "user:password" } });
    const { page, consoleErrors } = await app.visit("/environments/new", { theme: "dark", size: "phone" });
    await page.getByLabel("Name", { exact: true }).fill("imaged");
    await page.getByText("For example node:24-bookworm").waitFor();
    const image = page.getByLabel("Image", { exact: false }).and(page.getByRole("textbox"));
    const devcontainer = page.getByRole("textbox", { name: /^Devcontainer/ });
    await image.fill("Not An Image");
    expect(await devcontainer.isDisabled()).toBe(true);
    await chooseOption(page.getByLabel("Registry credentials"), "REGISTRY_LOGIN");
    await page.getByRole("textbox", { name: /^User/ }).fill("node");
    await page.getByRole("button", { name: "Create environment" }).click();
    await page.getByText(/^Image must be an image such as/).waitFor();
    await expectAccessible(page);
    await image.fill("registry.example.com:5000/acme/ci:main");
    await page.getByRole("button", { name: "Create environment" }).click();
    await page.getByRole("heading", { name: "imaged" }).waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1) as string;
    expect(await stored(id)).toMatchObject({
      docker_image: "registry.example.com:5000/acme/ci:main",
      docker_image_secret: "REGISTRY_LOGIN",
      user: "node",
    });

    await page.goto(`/environments/${id}`);
    await image.fill("");
    await devcontainer.fill(".devcontainer/devcontainer.json");
    expect(await image.isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText(/Devcontainer is only allowed with a repository/).waitFor();
    await page.getByRole("button", { name: "Add repository" }).click();
    await page.getByLabel("Repository 1", { exact: true }).fill("acme/api");
    await chooseOption(page.getByLabel("Submodules"), "skip");
    await chooseOption(page.getByLabel("Git LFS files"), "skip");
    await page.getByLabel("Only these folders").fill("packages/api/, docs, *.md");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText(/Only these folders .*must be a folder in the repository/).waitFor();
    await page.getByLabel("Only these folders").fill("packages/api/, docs");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText("All changes saved").waitFor();
    await expectAccessible(page);
    const saved = await stored(id);
    expect(saved).toMatchObject({
      devcontainer: ".devcontainer/devcontainer.json",
      repos: [
        { owner: "acme", repo: "api", sparse_paths: ["packages/api", "docs"], submodules: false, lfs: false },
      ],
    });
    expect(saved.docker_image).toBeUndefined();
    expect(consoleErrors).toEqual([]);
  });

  test("is read-only for members", async () => {
    const id = await make({ name: "read", setup_commands: ["make ready"], variables: { COLOUR: "blue" } });
    const user = { email: "member@example.com", display_name: "Member", role: "member" as const };
    const key = await addUser(app.db, user);
    const { page, context } = await app.visit("/login", { signedIn: false });
    await context.route("**/api/**", (route) =>
      route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${key}` } }),
    );
    await page.goto(`/environments/${id}`);
    await page.getByText("COLOUR=blue").waitFor();
    await page.getByText("make ready").waitFor();
    expect(await page.getByRole("textbox").count()).toBe(0);
    await page.getByRole("button", { name: "More actions" }).click();
    // The menu's code is loaded on first use.
    await page.getByRole("menuitem").first().waitFor();
    expect(await page.getByRole("menuitem").allTextContents()).toEqual(["Copy ID"]);
    await page.goto("/environments");
    await page.getByRole("link", { name: "read", exact: true }).waitFor();
    expect(await page.getByRole("link", { name: "New environment" }).count()).toBe(0);
    await page.goto("/secrets");
    await page.getByRole("heading", { name: "Only admins can manage secrets" }).waitFor();
  });
});

describe("the log of a build", () => {
  /** Acts as a worker that makes a build of an image. */
  async function build(environmentId: string, events: object[], outcome: object) {
    const asWorker = async (path: string, body: object) => {
      const response = await fetch(`${app.origin}/api/v1/worker${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${app.workerKey}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      expect(response.status, path).toBeLessThan(300);
      // biome-ignore lint/suspicious/noExplicitAny: responses have several shapes
      return (response.status === 204 ? undefined : await response.json()) as any;
    };
    await app.call("POST", `/agent/environments/${environmentId}/builds`);
    const worker = { worker_id: randomUUID(), name: "worker", version: "0", slots: 1 };
    const { builds } = await asWorker("/claim", { request_id: randomUUID(), worker, free: 1, wait_ms: 0 });
    const [{ build_id, token }] = builds;
    await asWorker(`/builds/${build_id}/finish`, { token, batch: 1, events, outcome });
  }
  const image = { reference: "node:24-bookworm", digest: `sha256:${"a1b2".repeat(16)}` };
  const step = (data: object) => ({ type: "step", data });
  const pull = { name: "pull node:24-bookworm" };

  test("shows the image, and the size and duration of its steps", async () => {
    const id = await make({ name: "sized", docker_image: image.reference, setup_commands: ["npm ci"] });
    const text = "Digest: sha256:a1b2\nLayer 1 of 2: 48.1 MiB.\nLayer 2 of 2: already on this worker.\n";
    const events = [
      step({ ...pull, state: "started" }),
      { type: "output", data: { stream: "stdout", text } },
      step({ ...pull, state: "finished", duration_ms: 4_200, size_bytes: 50_400_000 }),
      step({ name: "npm ci", state: "started" }),
      step({ name: "npm ci", state: "finished", exit_code: 0, duration_ms: 61_000 }),
      step({ name: "store", state: "started" }),
      step({ name: "store", state: "finished", duration_ms: 900, size_bytes: 7_000_000 }),
    ];
    const sha256 = "0".repeat(64);
    const ready = { type: "ready", key: sha256, sha256, size_bytes: 7_000_000, image, repositories: [] };
    await build(id, events, ready);
    const { page, consoleErrors } = await app.visit(`/environments/${id}?tab=builds`, { size: "phone" });
    const log = page.getByRole("region", { name: "Build" });
    await log.getByRole("list", { name: "Sources" }).getByText("sha256:a1b2a1b2a1b2").waitFor();
    await log.getByRole("button", { name: /finished: Pull node:24-bookworm .*48\.1 MiB · 4\.2 s/ }).click();
    await log.getByText("Layer 2 of 2: already on this worker.").waitFor();
    await log.getByRole("button", { name: /finished: Save result .*6\.7 MiB · 900 ms/ }).waitFor();
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);
  });

  test("says why an image cannot be pulled", async () => {
    const id = await make({ name: "unpulled", docker_image: image.reference });
    const events = [step({ ...pull, state: "started" }), step({ ...pull, state: "failed" })];
    const message =
      "The registry rejects the credentials for `node:24-bookworm`. Correct the secret that `docker_image_secret` names.";
    await build(id, events, { type: "failed", error_code: "environment_setup_failed", message });
    const { page, consoleErrors } = await app.visit(`/environments/${id}?tab=builds`, { theme: "dark" });
    const alert = page.getByRole("region", { name: "Build" }).getByRole("alert");
    await alert.getByText("The registry rejects the credentials for node:24-bookworm.").waitFor();
    expect(await alert.getByText(/killed|last lines|setup and start commands/).count()).toBe(0);
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);
  });
});
