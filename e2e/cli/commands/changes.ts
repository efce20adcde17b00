import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Origin, serveSsh } from "../../../packages/worker/test/repositories/git-server.ts";
import { cli, folder, installation, runCommand } from "./installation.ts";

describe("changes of runs", () => {
  test("applies the changes of a run to a clone of its repository", async () => {
    const origins = ["api", "web"].map((name) => new Origin(folder, name));
    for (const origin of origins) origin.push("main", { "a.txt": "one\ntwo\nthree\nfour\nfive\nsix\n" });
    const [api, web] = origins as [Origin, Origin];
    const url = ({ bare }: Origin) => `file://${bare}`;
    const clone = join(folder, "clone");
    execFileSync("git", ["clone", "--quiet", api.bare, clone]);
    const git = (...args: string[]) => execFileSync("git", args, { cwd: clone, encoding: "utf8" });
    const start = async (name: string, repositories: Origin[], script: string) => {
      const flags = repositories.flatMap((origin) => ["--repo", url(origin)]);
      await runCommand(["env", "create", name, ...flags, "--network", "none"]);
      return (await runCommand(["run", script, "--env", name, "--wait", "--json"])).json.run_id as string;
    };
    const one = await start(
      "apply one",
      [api],
      "RUN: sed -i s/one/ONE/ a.txt; echo new > 'ü \u{1b}[31m.txt'",
    );
    const stat = await runCommand(["runs", "diff", one, "--stat"]);
    expect(stat.stdout).toBe(
      " a.txt  | 2 +-\n ü .txt | 1 +\n 2 files changed, 2 insertions(+), 1 deletion(-)\n",
    );

    const elsewhere = await cli(["runs", "apply", one], { cwd: folder });
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining(`a clone of ${url(api)}`) });
    expect((await runCommand(["runs", "apply", one, "--check"], { cwd: clone })).stdout).toBe(
      "The changes of the run apply: 2 files.\n",
    );
    expect(git("status", "--porcelain")).toBe("");
    const applied = await runCommand(["runs", "apply", one], { cwd: clone });
    expect(applied.stdout).toBe("Changed 2 files:\n  a.txt\n  ü .txt\n");
    expect(readFileSync(join(clone, "a.txt"), "utf8")).toMatch(/^ONE\ntwo\n/);
    const again = await cli(["runs", "apply", one], { cwd: clone });
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("uncommitted changes here: a.txt"),
    });
    git("reset", "--quiet", "--hard");

    // The base has moved, and the clone does not have it yet.
    api.push("main", { "a.txt": "one\ntwo\nthree\nfour\nfive\nSIX\n" });
    const two = await start(
      "apply two",
      [api, web],
      "RUN: for r in api web; do sed -i s/one/TWO/ $r/a.txt; done",
    );
    expect((await cli(["runs", "apply", two, "--repository", "none"], { cwd: clone })).stderr).toContain(
      'no repository at "none". Its repositories are: api, web.',
    );
    const merged = await runCommand(["runs", "apply", two, "--json"], { cwd: clone });
    expect(merged.json).toMatchObject({ path: "api", folder: clone, files: ["a.txt"], conflicts: [] });
    expect(merged.stderr).toMatch(/^Fetching [0-9a-f]{12} from origin\.$/m);
    expect(readFileSync(join(clone, "a.txt"), "utf8")).toMatch(/^TWO\ntwo\n/);
    git(
      "-c",
      "user.name=t",
      "-c",
      "user.email=t@example.com",
      "commit",
      "--quiet",
      "--all",
      "--message",
      "two",
    );
    const conflict = await cli(["runs", "apply", one], { cwd: clone });
    expect(conflict).toMatchObject({ code: 1, stdout: "Changed 2 files with conflicts in:\n  a.txt\n" });
    expect(readFileSync(join(clone, "a.txt"), "utf8")).toContain("<<<<<<<");
  });

  test("publishes, approves, rejects and checks out the changes of a run", async () => {
    const origin = new Origin(folder, "published");
    origin.push("main", { "a.txt": "one\n" });
    const ssh = await serveSsh(folder);
    onTestFinished(() => ssh.stop());
    const url = `ssh://${ssh.user}@127.0.0.1:${ssh.port}${origin.bare}`;
    const clone = join(folder, "published.clone");
    execFileSync("git", ["clone", "--quiet", origin.bare, clone]);
    execFileSync("git", ["remote", "set-url", "origin", url], { cwd: clone });
    execFileSync("git", ["config", `url.${origin.bare}.insteadOf`, url], { cwd: clone });
    const start = async (name: string, script: string, publish: object) => {
      const repos = [{ url, secret: "PUSH", publish }];
      const input = JSON.stringify({ name, repos, network: { mode: "none" } });
      await runCommand(["env", "create", name, "--input", "-"], { input });
      return (await cli(["run", script, "--env", name, "--wait", "--json"])).json as {
        run_id: string;
      };
    };
    await runCommand(["secret", "set", "PUSH"], { input: ssh.key });
    const { run_id } = await start("publish", "RUN: echo two >> a.txt", { publish: "branch" });
    const checkedOut = (await runCommand(["runs", "checkout", run_id, "--json"], { cwd: clone })).json;
    expect(readFileSync(join(clone, "a.txt"), "utf8")).toBe("one\ntwo\n");
    const published = await runCommand(["runs", "publish", run_id, "--title", "Add two"]);
    const branch = published.stdout.trim();
    expect(branch).toBe(checkedOut.branch);
    expect(origin.run("ls-remote", origin.bare, `refs/heads/${branch}`)).toContain(checkedOut.commit);
    const fetched = await runCommand(["runs", "checkout", run_id, "--branch", "fetched"], { cwd: clone });
    expect(fetched.stdout).toContain(`(origin/${branch})`);
    const list = await runCommand(["runs", "publications", run_id, "--json"]);
    expect(list.json.publications).toMatchObject([{ state: "DONE", kind: "branch", branch }]);

    const policy = { publish: "branch", when: "always", approval: "required" };
    const [one, two] = [
      await start("approved", "RUN: echo three >> a.txt", policy),
      await start("rejected", "RUN: echo four >> a.txt", policy),
    ];
    expect((await runCommand(["runs", "get", one.run_id])).stdout).toMatch(/^state +BLOCKED$/m);
    expect((await runCommand(["runs", "logs", one.run_id])).stdout).toContain("outrider runs approve");
    const approved = await runCommand([
      "runs",
      "approve",
      one.run_id,
      "--yes",
      "--wait",
      "--comment",
      "good",
    ]);
    expect(origin.run("ls-remote", origin.bare, `refs/heads/${approved.stdout.trim()}`)).not.toBe("");
    expect((await runCommand(["runs", "reject", two.run_id, "--yes"])).stdout).toBe("Rejected.\n");
    await installation.until(two.run_id, "SUCCEEDED");
    for (const name of ["publish", "approved", "rejected"])
      await runCommand(["env", "delete", name, "--yes"]);
    await runCommand(["secret", "delete", "PUSH", "--yes"]);
  });
});
