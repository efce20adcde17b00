import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chooseOption, chosenValue, optionLabels } from "./support/choose-option.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;
const engine = { engine: "podman", engine_version: "5.4.0", runtime: "runsc" };

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

/** Registers workers with container sandboxes. */
async function registerWorkers(names: string[]) {
  const controls = {
    memory: { enforced: true, by: "the engine's cgroup" },
    disk: { enforced: false, reason: "The engine does not limit the size of volumes." },
  };
  const stats = { sandbox: "docker", sandbox_engine: engine, sandbox_controls: controls };
  const { db } = app;
  for (const name of names)
    await db`
      insert into workers (worker_id, name, version, slots, labels, stats, stats_at, last_seen_at)
      values (${randomUUID()}, ${name}, '1', 4, ${db.json({ "outrider/sandbox": "docker", disk: "ssd" })},
        ${db.json(stats)}, now(), now() + interval '1 hour')`;
}

describe("the kind of sandbox", () => {
  test("is a choice of environments, with a sentence on when to choose which", async () => {
    const { page, consoleErrors } = await app.visit("/environments/new");
    await page.getByLabel("Name", { exact: true }).fill("contained");
    const select = page.getByLabel("Sandbox", { exact: true });
    expect(await optionLabels(select)).toEqual(["Any", "Local", "Docker", "Kubernetes"]);
    await page.getByText("Any worker can execute the runs.").waitFor();
    await chooseOption(select, "Docker");
    await page.getByText(/Containers of a Docker or Podman engine/).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Create environment" }).click();
    await page.getByRole("heading", { name: "contained" }).waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1) as string;
    const stored = async () => (await app.call("GET", `/agent/environments/${id}`)).body.sandbox;
    expect(await stored()).toBe("docker");
    await page.goto(`/environments/${id}`);
    expect(await chosenValue(page.getByLabel("Sandbox", { exact: true }))).toBe("docker");
    await chooseOption(page.getByLabel("Sandbox", { exact: true }), "Any");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText("All changes saved").waitFor();
    expect(await stored()).toBeUndefined();
    expect(consoleErrors).toEqual([]);
  });

  test("is an option of a run, which says why it waits", async () => {
    // A worker with local sandboxes is connected.
    await app.db`insert into workers (worker_id, name, version, slots) values (${randomUUID()}, 'old', '0', 1)`;
    const { page, consoleErrors } = await app.visit("/");
    await page.getByRole("textbox", { name: "What should the agent do?" }).fill("SAY: hello");
    await page.getByRole("button", { name: /^Options/ }).click();
    await chooseOption(page.getByLabel("Sandbox", { exact: true }), "Docker");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Start run" }).click();
    await page.waitForURL(/\/runs\//);
    const { agent_config } = await app.get(page.url().split("/").at(-1) as string);
    expect(agent_config.sandbox).toBe("docker");
    await page
      .getByText(/No connected worker of the pool .*default.* has sandboxes of the kind .*docker/)
      .waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("is part of the receipt, with the engine that ran it", async () => {
    const run = await app.create(["SAY: one"], { title: "In a container" });
    await app.db`update runs set receipt = ${app.db.json({
      ...{ worker: "builder-1", harness_version: "0.1.0", model_id: "scripted", network: { mode: "none" } },
      sandbox: { kind: "docker", ...engine },
    })} where run_id = ${run}`;
    const { page, consoleErrors } = await app.visit(`/runs/${run}?tab=receipt`);
    await page.getByText("Docker, by Podman 5.4.0 with runsc").waitFor();
    await expectAccessible(page);
    const cluster = { engine: "kubernetes", engine_version: "v1.34.4", runtime: "gvisor" };
    await app.db`update runs set receipt = receipt || ${app.db.json({ sandbox: { kind: "kubernetes", ...cluster } })}
      where run_id = ${run}`;
    await page.reload();
    await page.getByText("Kubernetes v1.34.4 with gvisor", { exact: true }).waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("of each worker is shown with what it enforces", async () => {
    await registerWorkers(["rack-1", "rack-2"]);
    const { page, consoleErrors } = await app.visit("/workers");
    const row = page.getByRole("row", { name: /rack-1/ });
    await row.getByText("sandboxes: Docker, by Podman 5.4.0 with runsc").waitFor();
    expect(await row.getByRole("list", { name: "Labels" }).getByRole("listitem").allTextContents()).toEqual([
      "disk=ssd",
    ]);
    await row.getByText("Ready").waitFor();
    await row.getByText("What its sandboxes enforce").click();
    const controls = row.getByRole("list", { name: "Controls of rack-1" });
    expect(await controls.getByRole("listitem").allTextContents()).toEqual([
      "Disk: not enforced: The engine does not limit the size of volumes.",
      "Memory: enforced by the engine's cgroup",
    ]);
    await expectAccessible(page);

    await app.db`update workers set stats = stats || '{"accepts_runs": false}' where name = 'rack-1'`;
    await page.reload();
    await row.getByText("Not accepting runs").waitFor();
    await row.getByText(/^Its engine or cluster does not respond/).waitFor();
    await expectAccessible(page);

    await page.goto("/settings?section=operations");
    const kinds = page.getByRole("region", { name: "Kinds of sandboxes" });
    await kinds
      .getByRole("row", { name: /Docker, by Podman 5\.4\.0 with runsc/ })
      .getByText("rack-1, rack-2")
      .waitFor();
    await kinds.getByText("not enforced: The engine does not limit").locator("visible=true").waitFor();
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);
  });
});
