import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import { cli, folder, installation, proxy, runCommand } from "./installation.ts";

describe("finding and filtering runs", () => {
  test("finds a run by the beginning of its ID", async () => {
    const { run_id } = (await runCommand(["run", "SAY: short", "--wait", "--json"])).json;
    await runCommand(["run", "SAY: another in the same minute"]);
    const ids: string[] = (await runCommand(["runs", "list", "--all", "-q"])).stdout.trim().split("\n");
    const matching = (prefix: string) => ids.filter((id) => id.startsWith(prefix));
    const lengths = Array.from(run_id, (_, index) => index + 1);
    const unique = lengths.find((length) => matching(run_id.slice(0, length)).length === 1) ?? 0;
    const prefix = run_id.slice(0, unique);
    expect((await runCommand(["runs", "get", prefix, "-q"])).stdout).toBe(`${run_id}\n`);
    expect((await runCommand(["runs", "logs", prefix.toUpperCase()])).stdout).toContain("short");

    const shorter = run_id.slice(0, unique - 1);
    const ambiguous = await cli(["runs", "cancel", shorter]);
    expect(ambiguous).toMatchObject({ code: 2, stdout: "" });
    expect(ambiguous.stderr).toContain(`More than one run ID starts with ${shorter}. Use one of:\n`);
    const lines = ambiguous.stderr.matchAll(/^ {2}([0-9a-f-]{36}) {2}[A-Z]+ {2}./gm);
    const listed = new Set([...lines].map(([, id]) => id));
    // The command lists up to ten matches. How many there are depends on the speed of the other tests.
    expect(listed.size).toBe(Math.min(matching(shorter).length, 10));
    expect(matching(shorter)).toEqual(expect.arrayContaining([...listed]));

    expect(await cli(["runs", "get", "ffff"])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("No run has an ID that starts with ffff."),
    });
    expect((await cli(["runs", "get", "019"])).stderr).toContain("is not a run ID");
  });

  test("filters by relative times", async () => {
    const name = "relative";
    const { run_id } = (await runCommand(["run", "SAY: now", "--name", name, "--json"])).json;
    const list = async (...times: string[]) =>
      (await runCommand(["runs", "list", "--name", name, "-q", ...times])).stdout.trim();
    expect(await list("--created-after", "1h")).toBe(run_id);
    expect(await list("--updated-after", "1d12h")).toBe(run_id);
    expect(await list("--created-before", "1h")).toBe("");
    expect(await list("--created-after", "2020-01-31")).toBe(run_id);
  });

  test("filters JSON with jq", async () => {
    const { run_id } = (await runCommand(["run", "SAY: <filtered>", "--name", "jq", "--wait", "--json"]))
      .json;
    const { stdout } = await runCommand([
      "runs",
      "list",
      "--name",
      "jq",
      "--jq",
      ".runs[] | .run_id, .usage",
    ]);
    const [id, usage = ""] = stdout.split("\n");
    expect(id).toBe(run_id);
    expect(JSON.parse(usage)).toMatchObject({ steps: expect.any(Number) });
    expect((await runCommand(["--jq", ".title", "runs", "get", run_id])).stdout).toBe("SAY: <filtered>\n");
    const types = await runCommand(["runs", "logs", "-f", run_id, "--jq", "select(.seq <= 2) | .type"]);
    expect(types.stdout).toBe("run.created\nrun.claimed\n");
    const messages = '[.events[] | select(.type == "message.agent")] | length';
    expect((await runCommand(["runs", "transcript", run_id, "--jq", messages])).stdout).toBe("1\n");
    const models = await runCommand(["api", "get", "/agent/models", "--jq", ".default_model_id"]);
    expect(models.stdout).toBe("scripted\n");
    expect((await runCommand(["runs", "get", run_id, "--jq", "empty"])).stdout).toBe("");
  });

  test("rejects an invalid jq filter before it has an effect", async () => {
    proxy.set([]);
    const invalid = await cli(["run", "SAY: x", "--jq", ".run_id["]);
    expect(invalid).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("--jq: syntax error"),
    });
    expect(proxy.seen()).toEqual([]);
    const failing = await cli(["me", "--jq", ".uid.name"]);
    expect(failing).toMatchObject({
      code: 2,
      stdout: "",
      stderr: 'outrider: --jq: Cannot index string with string "name".\n',
    });
  });

  test("has the aliases ls and view", async () => {
    const { run_id } = (await runCommand(["run", "SAY: alias", "--name", "alias", "--json"])).json;
    expect((await cli(["runs", "ls", "--name", "alias", "-q"])).stdout).toBe(`${run_id}\n`);
    expect((await cli(["runs", "view", run_id, "-q"])).stdout).toBe(`${run_id}\n`);
    const help = (await cli(["runs", "--help"])).stdout;
    expect(help).toContain("list|ls");
    expect(help).toContain("get|view");
  });

  test("opens a session in the browser without passing the key on", async () => {
    const run = await installation.create(["SAY: x"]);
    const { session_link } = await installation.until(run, "SUCCEEDED");
    const browser = join(folder, "browser");
    const seen = join(folder, "seen");
    writeFileSync(
      browser,
      `#!/bin/sh\necho "$@" > ${seen}.part; env >> ${seen}.part; mv ${seen}.part ${seen}\n`,
    );
    chmodSync(browser, 0o755);
    await runCommand(["runs", "open", run], { environment: { BROWSER: browser } });
    await vi.waitUntil(() => existsSync(seen), waitOptions);
    expect(readFileSync(seen, "utf8").split("\n")[0]).toBe(session_link);
    expect(readFileSync(seen, "utf8")).not.toContain(installation.key);
    const none = await runCommand(["runs", "open", run], { environment: { BROWSER: join(folder, "none") } });
    expect(none).toMatchObject({
      stdout: `${session_link}\n`,
      stderr: expect.stringContaining("No browser"),
    });
  });

  test("steers and cancels runs", async () => {
    const { run_id } = (await runCommand(["run", "SLEEP: 60000", "--json"])).json;
    await installation.until(run_id, "INPROGRESS");
    const queued = (await runCommand(["runs", "followup", run_id, "SAY: later", "--mode", "queue", "--json"]))
      .json;
    const { followup_id } = queued;
    await runCommand(["runs", "followups", "edit", run_id, followup_id, "--message", "SAY: much later"]);
    const { stdout } = await runCommand(["runs", "followups", "list", run_id]);
    expect(stdout).toBe(`${followup_id}\tqueued\tqueue\tSAY: much later\n`);
    await runCommand(["runs", "followups", "withdraw", run_id, followup_id]);
    expect((await runCommand(["runs", "cancel", run_id])).stdout).toBe("Cancelled.\n");
    expect((await installation.get(run_id)).state).toBe("CANCELLED");
  });

  test("downloads artifacts without overwriting files", async () => {
    const { run_id } = (await runCommand(["run", "RUN: seq 1 40000", "--wait", "--json"])).json;
    const [artifact] = (await installation.get(run_id)).artifacts;
    const id = artifact.artifact_id as string;
    expect((await runCommand(["artifact", "get", id])).stdout).toHaveLength(artifact.size_bytes);
    const path = join(folder, "output");
    await runCommand(["artifact", "get", id, "-o", path]);
    expect(readFileSync(path)).toHaveLength(artifact.size_bytes);
    expect((await cli(["artifact", "get", id, "-o", path])).stderr).toContain("--force");
    await runCommand(["artifact", "get", id, "-o", path, "--force"]);
    expect((await runCommand(["artifact", "get", id, "--info"])).stdout).toContain(run_id);
  });
});
