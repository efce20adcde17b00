import { describe, expect, test } from "vitest";
import { startGitHubStub } from "../../../packages/server/test/forges/github-stub.ts";
import { Origin } from "../../../packages/worker/test/repositories/git-server.ts";
import { cli, folder, installation, runCommand } from "./installation.ts";

describe("environments and forges", () => {
  test("selects the workers of an environment", async () => {
    const { environment_id, ...made } = (
      await runCommand([
        ...["env", "create", "models", "--worker-host", "gpu", "--worker-selector", "region=eu"],
        ...["--worker-selector", "large", "--json"],
      ])
    ).json;
    expect(made).toMatchObject({ worker_host: "gpu", worker_selector: { region: "eu", large: "true" } });
    expect((await runCommand(["env", "get", environment_id])).stdout).toMatch(
      /^worker labels +(region=eu,large|large,region=eu)$/m,
    );
    await runCommand(["env", "delete", "models", "--yes"]);
  });

  test("creates, updates, builds and deletes environments", async () => {
    await runCommand(["secret", "set", "TOKEN"], { input: "not to be seen\n" });
    const made = await runCommand([
      ...["env", "create", "site", "--setup", "echo building", "--variable", "A=1", "--secret", "TOKEN"],
      ...["--build-secret", "TOKEN", "--start", "seq 12; echo starting"],
      ...["--network", "allowlist", "--allow", "example.com", "--cpus", "1", "--memory-mb", "256", "--json"],
      ...["--git-author", "Build Bot <bot@example.com>", "--harness", "claude", "--sandbox", "local"],
    ]);
    const { environment_id } = made.json;
    expect(made.json).toMatchObject({
      ...{ setup_commands: ["echo building"], variables: { A: "1" }, secrets: ["TOKEN"] },
      ...{ build_secrets: ["TOKEN"], start_commands: ["seq 12; echo starting"] },
      ...{ network: { mode: "allowlist", allow: ["example.com"] }, resources: { cpus: 1, memory_mb: 256 } },
      git_author: { name: "Build Bot", email: "bot@example.com" },
      ...{ harness: "claude", sandbox: "local" },
    });
    await runCommand(["env", "update", "site", "--harness", "outrider"]);
    expect((await runCommand(["env", "get", environment_id])).stdout).toMatch(/^harness +outrider$/m);
    const changed = (
      await runCommand(["env", "update", "site", "--description", "new", "--cpus", "2", "--json"])
    ).json;
    expect(changed).toMatchObject({
      ...{ description: "new", variables: { A: "1" }, resources: { cpus: 2, memory_mb: 256 }, version: 3 },
    });
    expect((await runCommand(["env", "get", environment_id])).stdout).toContain("allowlist example.com");
    expect((await runCommand(["env", "list"])).stdout).toContain("\tsite\t3\t");
    const log = await runCommand(["env", "build", "site", "--follow"]);
    expect(log.stdout).toContain("building");
    expect(log.stderr).toContain("READY");
    const [build] = (await runCommand(["env", "builds", environment_id, "-q"])).stdout.split("\n");
    expect((await runCommand(["env", "builds", "site", build as string])).stdout).toContain("READY");
    expect((await runCommand(["env", "log", "site"])).stdout).toContain("building");
    expect((await runCommand(["env", "shell", "site"], { input: "echo $A" })).stdout).toBe("1\n");
    expect((await runCommand(["env", "log", "site"])).stdout).toMatch(/✓ store · \d+ B · \d+/);
    const image = { reference: "node:24-bookworm", digest: `sha256:${"ab".repeat(32)}` };
    await installation.db`update builds set image = ${installation.db.json(image)} where build_id = ${build as string}`;
    expect((await runCommand(["env", "builds", "site", build as string])).stdout).toMatch(
      /^image +node:24-bookworm\n +sha256:(ab){32}$/m,
    );
    expect((await runCommand(["env", "builds", "site"])).stdout).toContain(
      "node:24-bookworm@sha256:abababababab",
    );
    await installation.db`update builds set image = null where build_id = ${build as string}`;
    expect((await runCommand(["env", "log", "site", "--json"])).json.build_id).toBe(build);
    expect((await runCommand(["skill", "list", "--json"])).json).toEqual({ skills: [] });
    const { run_id } = (await runCommand(["run", "RUN: true", "--env", "site", "--wait", "--json"])).json;
    const started = (await runCommand(["runs", "logs", run_id])).stdout;
    expect(started).toContain("✓ seq 12; echo starting\n  … 5 earlier lines (use --full to show all)\n  6\n");
    expect(started).toContain("  12\n  starting\n");
    expect((await runCommand(["runs", "logs", run_id, "--full"])).stdout).toContain("starting\n  1\n  2\n");
    const checkout = { sparse_paths: ["docs", "src"], submodules: false, lfs: false };
    const repos = [{ owner: "acme", repo: "api", ref: "main", ...checkout }];
    const input = JSON.stringify({ repos });
    expect((await runCommand(["env", "update", "site", "--input", "-"], { input })).stdout).toContain(
      "acme/api#main (only docs, src; no submodules; no Git LFS files)",
    );
    expect((await runCommand(["env", "get", "site", "--json"])).json).toMatchObject({ repos });
    await runCommand(["env", "delete", "site", "--yes"]);
    expect((await runCommand(["secret", "list"])).stdout).toMatch(/^TOKEN\t/);
    await runCommand(["secret", "delete", "TOKEN", "-y"]);
    expect((await runCommand(["secret", "list"])).stderr).toBe("No secrets.\n");
  });

  test("proposes settings for a repository or a folder", async () => {
    const origin = new Origin(folder, "lock");
    const commit = origin.push("main", { "package-lock.json": "{}", ".nvmrc": "22" });
    const url = `file://${origin.bare}`;
    const settings = {
      docker_image: "node:22-bookworm",
      setup_commands: ["npm ci"],
      network: { mode: "allowlist", allow: ["preset:npm"] },
    };
    expect((await runCommand(["env", "propose", url, "--json"])).json).toMatchObject({ commit, settings });
    const { stdout } = await cli(["env", "propose", origin.copy, "--server", "http://127.0.0.1:1"]);
    expect(stdout).toMatch(/^image +node:22-bookworm\nsetup +npm ci\nnetwork +allowlist preset:npm\nwhy +- /);
    const failed = await cli(["env", "propose", `${url}#nope`]);
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining("nope")]);

    const create = ["env", "create", "proposed", "--repo", url, "--propose", "--json"];
    expect((await cli(create)).stderr).toContain("Pass --yes");
    const created = await runCommand([...create, "--yes", "--setup", "make"]);
    expect(created.json).toMatchObject({ ...settings, setup_commands: ["make"] });
    expect(created.stderr).toContain("`.nvmrc` names Node.js 22");
    const terminal = cli.terminal(create);
    await terminal.waitForOutput("[Y/n]");
    expect(terminal.text()).toContain("  image         node:22-bookworm\n  setup         npm ci\n");
    terminal.type("n\r");
    expect((await terminal.ended).code).toBe(1);
    expect((await cli(["env", "list"])).stdout.match(/\tproposed\t/g)).toHaveLength(1);
  });

  test("connects, tests and disconnects a forge", async () => {
    const github = await startGitHubStub();
    try {
      await github.addRepository("acme/api");
      const { host } = new URL(github.url);
      const flags = ["--host", github.url, "--token-file", "-"];
      const refused = await cli(["connect", "github", ...flags], { input: "not-the-token" });
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining("`/token` was not accepted"),
      ]);
      const connected = await runCommand(["connect", "github", ...flags], { input: github.token });
      expect(connected.stdout).toBe(`Connected ${host} as octocat.\n`);
      expect(connected.stderr).toContain("Repositories:\n  acme/api\n");
      expect((await runCommand(["forges", "list"])).stdout).toContain(`\t${host}\tgithub\ttoken\toctocat\t`);
      const found = await runCommand(["forges", "repositories", host, "--search", "api"]);
      expect(found.stdout).toBe("acme/api\tmain\tpush\t\n");
      const tested = await runCommand(["forges", "test", host, "acme/api"]);
      expect(tested.stdout.match(/^✓ [a-z ]+: /gm)).toEqual([
        ...[
          "✓ authenticate: ",
          "✓ read repository: ",
          "✓ clone: ",
          "✓ push: ",
          "✓ pull request: ",
          "✓ clean up: ",
        ],
      ]);
      expect((await runCommand(["forges", "get", host])).stdout).toMatch(
        /^last test +passed .*\(acme\/api\)$/m,
      );
      await runCommand(["forges", "delete", host, "--yes"]);
      expect((await runCommand(["forges", "list"])).stderr).toContain("outrider connect github");
      expect(github.violations).toEqual([]);
    } finally {
      await github.close();
    }
  });
});
