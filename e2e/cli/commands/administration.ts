import { describe, expect, test } from "vitest";
import { cli, installation, runCommand } from "./installation.ts";

describe("administration", () => {
  test("creates, updates and deletes cloud agents and keys", async () => {
    const { uid } = (await runCommand(["agent", "create", "nightly", "--model", "scripted", "--json"])).json;
    await runCommand(["agent", "update", "nightly", "--description", "at night", "--harness", "codex"]);
    expect((await runCommand(["agent", "get", uid, "--json"])).json).toMatchObject({
      ...{ name: "nightly", model_id: "scripted", description: "at night", harness: "codex" },
    });
    expect((await runCommand(["agent", "list"])).stdout).toBe(`${uid}\tnightly\tscripted\tat night\n`);
    const flags = [
      "--type",
      "agent",
      "--agent",
      "nightly",
      "--scope",
      "runs:read",
      "--limit",
      "max_concurrent_runs=2",
    ];
    const made = await runCommand(["key", "create", "ci", ...flags]);
    const key = made.stdout.trim();
    expect(key).toMatch(/^ora_\w+$/);
    expect(made.stderr).not.toContain(key);
    const me = await cli(["me", "--json"], { environment: { OUTRIDER_API_KEY: key } });
    expect(me.json).toMatchObject({
      uid,
      key: { scopes: ["runs:read"], limits: { max_concurrent_runs: 2 } },
    });
    const { key_id } = me.json.key;
    expect((await runCommand(["key", "list"])).stdout).toContain(key_id);
    await runCommand(["key", "revoke", key_id, "--yes"]);
    expect((await cli(["me"], { environment: { OUTRIDER_API_KEY: key } })).code).toBe(3);
    await runCommand(["agent", "delete", "nightly", "--yes"]);
  });

  test("shows models, harnesses, workers and the current user", async () => {
    const harnesses = (await runCommand(["harness", "list"])).stdout;
    expect(harnesses).toMatch(/^outrider\tOutrider\t\tyes\tinstalled$/m);
    expect(harnesses).toMatch(/^claude\tClaude Code\t.*\tyes\t/m);
    const refused = await cli(["run", "hello", "--harness", "cobol"]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain(
      "is not a harness of this installation; available: `outrider`, `claude`",
    );
    expect((await runCommand(["model", "list"])).stdout).toContain("scripted\tdefault\t");
    expect((await runCommand(["me"])).stdout).toContain("admin");
    expect((await runCommand(["workers", "list"])).stdout).toContain("\tworker-1\talive\tdefault\t");
    const far = (
      await runCommand([...["run", "SAY: hi", "--worker-host", "far"], ...["--worker-selector", "gpu"], "-q"])
    ).stdout.trim();
    expect((await runCommand(["workers", "demand", "--pool", "far"])).stdout).toMatch(
      /^far\t1\t0\t0\t0\t0\t/m,
    );
    expect((await runCommand(["runs", "get", far])).stdout).toContain(
      "No connected worker of the pool `far` has the label `gpu=true`.",
    );
    await runCommand(["runs", "cancel", far]);
  });

  test("shows usage and load as a table and as CSV", async () => {
    const table = await runCommand(["usage", "--from", "2d", "--compare"]);
    expect(table.stdout.trim().split("\n")).toHaveLength(3);
    expect(table.stderr).toMatch(/runs? \(.*\), .* successful, \$/);
    expect((await runCommand(["usage", "--by", "model", "--csv"])).stdout).toMatch(
      /^key,label,runs,succeeded,/,
    );
    expect((await runCommand(["usage", "load", "--csv"])).stdout).toMatch(/^starts_at,queued,/);
    const usage = await runCommand(["usage", "--json", "--interval", "hour"]);
    expect(usage.json.points).toHaveLength(30);
  });

  test("rejects a worker with an unknown kind of sandboxes", async () => {
    for (const [args, OUTRIDER_SANDBOX] of [
      [["--sandbox", "nowhere"], "local"],
      [[], "nowhere"],
    ] as const) {
      const environment = { OUTRIDER_WORKER_KEY: "x", OUTRIDER_SANDBOX };
      const { code, stderr } = await cli(["worker", ...args], { environment });
      expect(code).not.toBe(0);
      expect(stderr).toContain('--sandbox must be auto, local, docker or kubernetes, not "nowhere".');
    }
  });

  test("shows the limits and retention of the installation", async () => {
    const { stdout } = await runCommand(["installation"]);
    expect(stdout).toMatch(/^accepts new runs +yes$/m);
    expect(stdout).toMatch(/^requests +\S+ per minute$/m);
    expect((await runCommand(["installation", "--json"])).json).toMatchObject({
      maintenance: { admission: "open" },
      limits: { queue_timeout_hours: 24 },
      retention: { runs: {} },
    });
  });

  test("starts and ends maintenance, and cancels runs by filter", async () => {
    await runCommand(["maintenance", "pause", "--queue", "--message", "back soon"]);
    expect((await runCommand(["maintenance", "status"])).stdout).toMatch(
      /^admission +paused\nqueue +paused\nmode +normal\n/,
    );
    expect((await cli(["run", "SAY: x"])).stderr).toContain("back soon");
    expect((await runCommand(["maintenance", "read-only", "--json"])).json.mode).toBe("read_only");
    expect((await runCommand(["maintenance", "end", "--quiet"])).stdout).toBe("open\n");
    const counted = await runCommand(["runs", "cancel", "--all", "--name", "unused", "--dry-run", "--json"]);
    expect(counted.json).toEqual({ cancelled: 0, remaining: 0 });
    expect((await runCommand(["runs", "cancel", "--all", "--name", "unused", "--yes"])).stdout).toBe(
      "Cancelled 0 runs.\n",
    );
    expect((await cli(["runs", "cancel", "--state", "QUEUED"])).code).toBe(2);
  });

  test("invites, updates and deletes users, and creates sign-in links", async () => {
    const invited = await runCommand(["users", "invite", "ada@example.com", "--name", "Ada"]);
    expect(invited.stdout).toMatch(/^http:\/\/\S+\/login#token=orl_\w{49}\n$/);
    expect(invited.stderr).not.toContain("orl_");
    expect((await runCommand(["users", "list"])).stdout).toContain("\tada@example.com\tAda\tmember\tnone");
    await runCommand(["users", "update", "Ada@Example.com", "--role", "admin", "--name", "Ada L."]);
    expect((await runCommand(["users", "list"])).stdout).toContain("\tada@example.com\tAda L.\tadmin\t");
    const link = (await runCommand(["users", "sign-in-link", "ada@example.com", "--json"])).json;
    expect(Object.keys(link).toSorted()).toEqual(["expires_at", "link"]);
    await runCommand(["users", "delete", "ada@example.com", "--yes"]);
    expect((await runCommand(["users", "list"])).stdout).not.toContain("ada@example.com");
    expect((await cli(["users", "sign-in-link", "ada@example.com"])).code).toBe(4);
  });

  test("calls any path of the API", async () => {
    const body = { name: "by hand", network: { mode: "none" } };
    const made = await runCommand(["api", "post", "/agent/environments", "--input", "-"], {
      input: JSON.stringify(body),
    });
    const path = `/agent/environments/${made.json.environment_id}`;
    const fields = ["-f", "name=by fields", "-F", 'network={"mode":"open"}'];
    expect((await runCommand(["api", "PUT", path, ...fields])).json).toMatchObject({
      version: 2,
      name: "by fields",
    });
    expect((await runCommand(["api", "get", "/agent/runs", "-f", "limit=1"])).json.runs).toHaveLength(1);
    expect((await runCommand(["api", "delete", path])).stdout).toBe("");
    const refused = await cli(["api", "get", "/me", "-H", `Authorization: Bearer ${installation.key}`]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
  });
});

test("drains a worker", async () => {
  const worker = await installation.workerProcess("to be drained");
  const all = (await runCommand(["workers", "list", "--json"])).json.workers as {
    worker_id: string;
    name: string;
  }[];
  const { worker_id } = all.find(({ name }) => name === "to be drained") as { worker_id: string };
  await runCommand(["workers", "drain", worker_id]);
  expect((await worker.ended).code).toBe(0);
});
