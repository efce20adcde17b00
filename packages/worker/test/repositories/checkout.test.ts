import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CheckoutOptions, checkoutScript } from "../../src/repositories/checkout.ts";
import { parseKnownObjects } from "../../src/repositories/known-objects.ts";
import { openRepositories } from "../../src/repositories/repositories.ts";
import type { Repositories } from "../../src/repositories/repository.ts";
import { isRoot, silent } from "../sandboxes/sandbox-support.ts";
import { git, makeFolder, Origin } from "./git-server.ts";

/** Checkouts inside a sandbox, from what the worker sends. As root, another user makes them. */

const signal = new AbortController().signal;
const url = "https://git.example.com/owner/name.git";
const reader = isRoot ? { uid: 21_499, gid: 21_499 } : {};

let origins: ReturnType<typeof makeFolder>;
let work: ReturnType<typeof makeFolder>;
let origin: Origin;
let repositories: Repositories;
let workspace: string;

beforeEach(() => {
  origins = makeFolder();
  work = makeFolder();
  origin = new Origin(origins.folder, "origin");
  const folder = join(work.folder, "repositories");
  repositories = openRepositories({ folder, allowedPaths: [origins.folder], log: silent });
  workspace = join(work.folder, "workspace");
  mkdirSync(workspace);
  if (reader.uid) chownSync(workspace, reader.uid, reader.gid);
  chmodSync(work.folder, 0o711);
});
afterEach(() => {
  origins.remove();
  work.remove();
});

/** Runs bash in the workspace inside bubblewrap. */
function run(script: string, input?: Buffer) {
  const programs = ["/bin", "/lib", "/lib64"].flatMap((path) => ["--symlink", `usr${path}`, path]);
  const binds = [
    "--ro-bind",
    "/usr",
    "/usr",
    ...programs,
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
  ];
  const mounts = [...binds, "--bind", workspace, "/workspace"];
  const isolation = ["--unshare-all", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--clearenv"];
  const env = ["--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/tmp", "--chdir", "/workspace"];
  const { stdout, stderr, status } = spawnSync(
    "bwrap",
    [...isolation, ...mounts, ...env, "bash", "-c", script],
    {
      ...reader,
      cwd: "/",
      encoding: "utf8",
      maxBuffer: 2 ** 26,
      ...(input ? { input } : {}),
    },
  );
  return { stdout, stderr, exitCode: status };
}

interface Change extends Partial<CheckoutOptions> {
  /** Called with the mirror's folder when the worker has begun to send its content. */
  onSending?(folder: string): void;
}

/** Resolves and checks out. `repo` then runs git in the clone. */
async function checkOut(ref?: string, { onSending, ...options }: Change = {}) {
  const resolved = await repositories.resolve({ url: origin.bare, ...(ref ? { ref } : {}) }, { signal });
  const script = checkoutScript({ ...resolved, path: "name", url, ...options });
  const request = {
    ...resolved,
    commit: options.commit ?? resolved.commit,
    isPartial: false,
    lfsObjects: [],
  };
  const chunks: Buffer[] = [];
  for await (const chunk of repositories.streamMirrors([request], { signal })) {
    if (chunks.length === 0) onSending?.(resolved.mirror);
    chunks.push(chunk);
  }
  const result = run(script, Buffer.concat(chunks));
  const repo = (...args: string[]) => {
    const words = ["git", "-C", options.path ?? "name", ...args].map((arg) => `'${arg}'`);
    const { stdout, stderr, exitCode } = run(words.join(" "));
    return exitCode === 0 ? stdout.trim() : `exit ${exitCode}: ${stderr}`;
  };
  return { ...resolved, result, repo };
}

describe("a checkout", () => {
  test("is a complete clone on its branch and does not depend on the mirror", async () => {
    origin.push("main", { a: "1" });
    origin.run("push", "--quiet", "origin", "HEAD:refs/tags/v1");
    const other = origin.push("other", { a: "2" });
    const commit = origin.push("topic/x", { a: "3", "deep/er/b": "4" });
    const { result, repo } = await checkOut("topic/x");
    expect(result).toMatchObject({ exitCode: 0, stdout: "", stderr: "" });
    expect(repo("rev-parse", "HEAD")).toBe(commit);
    expect(repo("symbolic-ref", "HEAD")).toBe("refs/heads/topic/x");
    expect(repo("status", "--porcelain=v1", "--branch")).toBe("## topic/x");
    expect(repo("log", "--format=%s")).toBe("change of a,deep/er/b\nchange of a\nchange of a");
    expect(repo("for-each-ref", "--format=%(refname)").split("\n")).toEqual([
      "refs/heads/topic/x",
      "refs/remotes/origin/HEAD",
      "refs/remotes/origin/main",
      "refs/remotes/origin/other",
      "refs/remotes/origin/topic/x",
      "refs/tags/v1",
    ]);
    expect(repo("rev-parse", "origin/other")).toBe(other);
    expect(repo("symbolic-ref", "refs/remotes/origin/HEAD")).toBe("refs/remotes/origin/main");
    expect(repo("config", "--local", "--list").split("\n").sort()).toEqual([
      "core.bare=false",
      "core.filemode=true",
      "core.logallrefupdates=true",
      "core.repositoryformatversion=0",
      "remote.origin.fetch=+refs/heads/*:refs/remotes/origin/*",
      `remote.origin.url=${url}`,
    ]);
    expect(repo("fsck", "--full")).toBe("");
    const { stdout } = run(`ls name/.git/hooks name/.git/objects/info/alternates; grep -r mirror name`);
    expect(stdout).toBe("");
    expect(repo("-c", "user.name=a", "-c", "user.email=b", "commit", "--allow-empty", "-m", "x")).toContain(
      "x",
    );
  });

  test("checks out the default branch, a tag or a commit", async () => {
    const first = origin.push("main", { a: "1" });
    origin.run("push", "--quiet", "origin", "HEAD:refs/tags/v1");
    const second = origin.push("main", { a: "2" });
    const main = await checkOut(undefined, { path: "one" });
    expect(main.repo("rev-parse", "HEAD", "refs/heads/main")).toBe(`${second}\n${second}`);
    for (const [ref, path] of [
      ["v1", "two/deep and 'odd"],
      [first.slice(0, 10), "-three"],
    ] as const) {
      const { result } = await checkOut(ref, { path });
      expect(result.stderr).toBe("");
      const script = `cd -- ./"${path}" && git rev-parse HEAD && cat a && git status --short && git symbolic-ref HEAD`;
      expect(run(script)).toMatchObject({ stdout: `${first}\n1`, exitCode: 128 });
    }
  });

  test("checks out a commit that no branch contains anymore", async () => {
    const first = origin.push("main", { a: "1" });
    const lost = origin.push("main", { a: "2" });
    const resolved = await repositories.resolve({ url: origin.bare }, { signal });
    origin.run("reset", "--quiet", "--hard", first);
    origin.push("main", { a: "3" });
    const { repo, result } = await checkOut(undefined, { commit: resolved.commit });
    expect(result.exitCode).toBe(0);
    expect(repo("rev-parse", "HEAD", "origin/main")).toBe(`${lost}\n${lost}`);
    expect(repo("fsck", "--full", "--connectivity-only")).not.toMatch(/missing|error/);
  });

  test("is complete if the mirror is repacked while its content is sent", async () => {
    origin.push("main", { a: "1" });
    await repositories.resolve({ url: origin.bare }, { signal });
    const commit = origin.push("main", { a: "2" });
    const { repo, result } = await checkOut(undefined, {
      onSending(folder) {
        const packs = () => readdirSync(join(folder, "objects/pack"));
        const before = packs();
        git(folder, "repack", "-a", "-d", "--quiet");
        expect(before.filter((name) => packs().includes(name))).toEqual([]);
      },
    });
    expect(result).toMatchObject({ exitCode: 0, stderr: "" });
    expect(repo("fsck", "--full")).toBe("");
    expect(repo("symbolic-ref", "refs/remotes/origin/HEAD")).toBe("refs/remotes/origin/main");
    expect(repo("rev-parse", "HEAD")).toBe(commit);
  });

  test("that exists gets only the objects that it lacks", async () => {
    const first = origin.push("main", { a: "1", large: randomBytes(300_000).toString("base64") });
    await repositories.resolve({ url: origin.bare }, { signal });
    origin.push("main", { a: "2" });
    const resolved = await repositories.resolve({ url: origin.bare }, { signal });
    const request = { ...resolved, isPartial: false, lfsObjects: [] };
    const sizeOf = async (output?: string) => {
      const known = output === undefined ? undefined : parseKnownObjects(output, 1)[0];
      return (await buffer(repositories.streamMirrors([{ ...request, known }], { signal }))).length;
    };
    expect(await sizeOf()).toBeGreaterThan(300_000);
    expect(await sizeOf(`0 commit ${first}\n`)).toBeLessThan(20_000);
    // What the clone says is not trusted: other ids, clones and lines are ignored.
    const hostile = `0 clone\n0 commit ${"1".repeat(40)}\n7 commit ${first}\n0 commit --all\n0 pack ../x\n`;
    expect(await sizeOf(hostile)).toBeGreaterThan(300_000);
    expect(readdirSync(join(work.folder, "repositories/scratch"))).toEqual([]);
  });

  test("is rejected in a folder that is not empty", async () => {
    origin.push("main", { a: "1" });
    run("mkdir name; touch name/file");
    const { result } = await checkOut();
    expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("is not empty") });
    expect(() => checkoutScript({ commit: "a".repeat(40), path: "a/../../b", url })).toThrow();
  });

  test("runs no hooks, filters or commands of the repository", async () => {
    const trap = "touch /workspace/trapped /tmp/trapped; cat";
    origin.push("main", {
      ".gitattributes": "* filter=trap diff=trap\n*.bin filter=lfs\n",
      "x.bin": "version https://git-lfs.github.com/spec/v1\n",
      "inner/HEAD": "ref: refs/heads/main\n",
      "inner/config": `[core]\n\tfsmonitor = ${trap}\n\tsshCommand = ${trap}\n\tworktree = ..\n`,
      "inner/hooks/post-checkout": `#!/bin/sh\n${trap}\n`,
      ".gitmodules": `[submodule "x"]\n\tpath = x\n\turl = ext::sh -c '${trap}'\n\tupdate = !${trap}\n`,
    });
    // Hooks and settings of the remote repository itself.
    mkdirSync(join(origin.bare, "hooks"), { recursive: true });
    for (const hook of ["post-checkout", "reference-transaction", "post-update", "pre-auto-gc"]) {
      writeFileSync(join(origin.bare, "hooks", hook), `#!/bin/sh\ntouch ${origins.folder}/trapped\n`, {
        mode: 0o755,
      });
    }
    for (const [name, value] of [
      ["core.fsmonitor", `touch ${origins.folder}/trapped`],
      ["core.sshCommand", `touch ${origins.folder}/trapped`],
      ["core.alternateRefsCommand", `touch ${origins.folder}/trapped`],
      ["uploadpack.packObjectsHook", `touch ${origins.folder}/trapped`],
      ["core.hooksPath", join(origin.bare, "hooks")],
    ] as const) {
      git(origin.bare, "config", name, value);
    }
    const { result } = await checkOut();
    expect(result).toMatchObject({ exitCode: 0, stderr: "" });
    const { stdout } = run("ls -d /workspace/trapped /tmp/trapped; cat name/x.bin; ls -A");
    expect(stdout).toBe("version https://git-lfs.github.com/spec/v1\nname\n");
    expect(readdirSync(origins.folder)).not.toContain("trapped");
  });

  test("fails inside the sandbox if a tree writes into .git", async () => {
    origin.push("main", { a: "1" });
    const blob = origin.run("hash-object", "-w", "a");
    const entry = (mode: string, object: string, name: string) =>
      Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(object, "hex")]);
    const tree = (data: Buffer) => {
      writeFileSync(join(origins.folder, "tree"), data);
      return origin.run("hash-object", "-t", "tree", "-w", "--literally", join(origins.folder, "tree"));
    };
    const hooks = tree(entry("100755", blob, "post-checkout"));
    const top = tree(entry("40000", tree(entry("40000", hooks, "hooks")), ".git"));
    const commit = origin.run("commit-tree", "-m", "trap", top);
    origin.run("push", "--quiet", "--force", "origin", `${commit}:refs/heads/main`);
    const { result } = await checkOut();
    expect(result.exitCode).not.toBe(0);
    expect(run("ls name/.git/hooks")).toMatchObject({ stdout: "" });
  });
});

describe("dangerous or unsupported URLs", () => {
  test.for([
    "ext::sh -c 'touch /tmp/trapped'",
    "ext::sh%20-c%20id",
    "--upload-pack=touch /tmp/trapped",
    "-oProxyCommand=touch /tmp/trapped",
    "ssh://-oProxyCommand=touch/x",
    "ssh://git@-oProxyCommand=x/y",
    "ssh://git@host/-x",
    "git@-oProxyCommand=x:y",
    "-git@host:path",
    "git@host:-x",
    "https://user:pass@host/x",
    "ssh://git:pass@host/x",
    "https://host/x%0ahost=other",
    "https://host/x\nhost=other",
    "https://host/x?private_token=1",
    "https://host",
    "http://host/x",
    "git://host/x",
    "fd::7",
    "file:relative",
    "relative/path",
    "../x",
    "",
  ])("%j is rejected before it reaches git", async (url) => {
    await expect(repositories.resolve({ url }, { signal })).rejects.toMatchObject({
      name: "RepositoryError",
      code: "environment_setup_failed",
      message: expect.not.stringMatching(/pass@|\n/),
    });
  });
});

test("a checkout of 50,000 files is complete", async () => {
  const file = (index: number) => {
    const text = `file ${index}\n`;
    return `M 100644 inline d${index % 100}/e${index % 1000}/f${index}\ndata ${text.length}\n${text}\n`;
  };
  const commit = "commit refs/heads/main\ncommitter Ada <ada@example.com> 1700000000 +0000\ndata 1\nx\n";
  const input = commit + Array.from({ length: 50_000 }, (_, index) => file(index)).join("");
  execFileSync("git", ["-C", origin.bare, "fast-import", "--quiet"], { input });
  const { repo, result } = await checkOut();
  expect(result).toMatchObject({ exitCode: 0, stderr: "" });
  expect(repo("ls-files").split("\n")).toHaveLength(50_000);
  expect(repo("status", "--porcelain")).toBe("");
});
