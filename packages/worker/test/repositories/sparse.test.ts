import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openCommit } from "../../src/repositories/commit-reader.ts";
import { openRepositories, type RepositoriesOptions } from "../../src/repositories/repositories.ts";
import type { Repositories } from "../../src/repositories/repository.ts";
import { isInCone } from "../../src/repositories/sparse.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { makeRoot, silent } from "../sandboxes/sandbox-support.ts";
import { checkOut, fetchAll, type Repos } from "./checkout-support.ts";
import { git, type HttpServer, makeFolder, Origin, serveHttp, serveSsh } from "./git-server.ts";

/** Sparse checkouts from partial mirrors, for very large repositories. */

const { root, remove } = makeRoot();
const origins = makeFolder();
const signal = new AbortController().signal;
let server: HttpServer;
let provider: SandboxProvider;
let count = 0;

beforeAll(async () => {
  provider = await openLocalProvider({ root, log: silent });
  server = await serveHttp(origins.folder);
});
afterAll(async () => {
  await server?.stop();
  await provider?.stop();
  await remove();
  origins.remove();
});

function open(options: Partial<RepositoriesOptions> = {}): Repositories {
  return openRepositories({
    folder: join(root, "..", `repositories-${++count}`),
    allowedPaths: [],
    insecureHosts: [server.host],
    log: silent,
    ...options,
  });
}

const large = () => randomBytes(500_000).toString("hex");

/** A repository whose files are mostly in a folder that nobody checks out, or in its history. */
function makeOrigin({ supportsFilter = true } = {}) {
  const name = `origin-${++count}`;
  const origin = new Origin(origins.folder, name);
  git(origin.bare, "config", "uploadpack.allowFilter", String(supportsFilter));
  origin.push("main", { "packages/api/old": large(), "media/b": large() });
  origin.push("main", {
    "README.md": "root\n",
    "packages/list": "direct\n",
    "packages/api/old": "new\n",
    "packages/api/deep/er/a": "deep\n",
    "packages/other/c": large(),
    "media/b": large(),
  });
  return { origin, name, url: `http://${server.host}/${name}.git` };
}

const environmentOf = (url: string, sparse_paths = ["packages/api"]): Repos => ({
  repos: [{ url, path: "top", sparse_paths }],
});

describe("a sparse checkout", () => {
  test("contains only its folders, and transfers far fewer bytes", async () => {
    const { url } = makeOrigin();
    const [partial, full] = [open(), open()];
    await full.resolve({ url }, { signal });
    const { bash, diff } = await checkOut({ repositories: partial, provider }, environmentOf(url));
    expect(full.bytes()).toBeGreaterThan(2_000_000);
    expect(partial.bytes()).toBeLessThan(20_000);
    expect(await bash("cd top && find . -name .git -prune -o -type f -print | sort")).toBe(
      ["./README.md", "./packages/api/deep/er/a", "./packages/api/old", "./packages/list"].join("\n"),
    );
    expect(
      await bash("cd top && git status --porcelain --branch && git log --format=%s -- media packages"),
    ).toBe(
      "## main\nchange of README.md,packages/list,packages/api/old,packages/api/deep/er/a,packages/other/c,media/b\nchange of packages/api/old,media/b",
    );
    for (const command of [
      "git show HEAD:media/b",
      "git log -p",
      "git blame packages/api/old",
      "git sparse-checkout add media",
    ]) {
      expect(await bash(`cd top && ${command}`)).toMatch(
        /^exit 128: [\s\S]*This checkout is sparse: it has only files/,
      );
    }
    expect(await diff()).toBe("");
    await bash("cd top && echo changed > packages/api/old && mkdir media && echo outside > media/new");
    expect((await diff()).match(/^diff .*$/gm)).toEqual([
      "diff --git a/media/new b/media/new",
      "diff --git a/packages/api/old b/packages/api/old",
    ]);
    await bash("git config --global user.name a; git config --global user.email b");
    expect(
      await bash(
        "cd top && git commit -qam x && git status --porcelain && git gc -q && git show --stat --format=%s",
      ),
    ).toBe("?? media/new\nx\n\n packages/api/old | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)");
    expect(await bash("grep -rl /run/outrider top/.git || true")).toBe("");
  });

  test("follows a branch that has moved", async () => {
    const { origin, url } = makeOrigin();
    const repositories = open();
    const first = await checkOut({ repositories, provider }, environmentOf(url));
    await first.bash("touch top/packages/api/untracked");
    origin.push("main", { "packages/api/old": "newer\n", "packages/api/b": "added\n", "media/b": large() });
    origin.run("push", "--quiet", "origin", "HEAD:refs/tags/v1");
    const { bash, diff, fetched } = await first.continue();
    expect(await bash("cd top && cat packages/api/{old,b} && git status --porcelain --branch")).toBe(
      "newer\nadded\n## main\n?? packages/api/untracked",
    );
    expect(await bash("cd top && git rev-parse origin/main v1^{commit}")).toBe(
      `${fetched[0]?.commit}\n${fetched[0]?.commit}`,
    );
    expect(await diff()).toMatch(/^diff --git a\/packages\/api\/untracked/);
    expect(repositories.bytes()).toBeLessThan(20_000);
  });

  test("works with a server that does not support partial clones", async () => {
    const { url } = makeOrigin({ supportsFilter: false });
    const { bash } = await checkOut({ repositories: open(), provider }, environmentOf(url));
    expect(await bash("cd top && ls && git status --porcelain && git log --format=%s | wc -l")).toBe(
      "README.md\npackages\n2",
    );
  });

  test("names the problem of a server that sends no single files", async () => {
    const { name } = makeOrigin();
    const keys = makeFolder();
    // This server does not accept the variable with which git asks for version 2 of its protocol.
    const ssh = await serveSsh(keys.folder);
    onTestFinished(async () => {
      await ssh.stop();
      keys.remove();
    });
    const url = `ssh://${ssh.user}@127.0.0.1:${ssh.port}${origins.folder}/${name}.git`;
    const resolved = open().resolve({ url, credential: ssh.key, sparsePaths: ["packages/api"] }, { signal });
    await expect(resolved).rejects.toMatchObject({
      code: "environment_setup_failed",
      message: expect.stringContaining("does not send single files"),
    });
  });

  test("leaves out submodules and Git LFS files of other folders, and names unknown folders", async () => {
    const { origin, url } = makeOrigin();
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 5\n`;
    origin.run("update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},media/inner`);
    mkdirSync(join(origin.copy, "media/inner"));
    origin.push("main", {
      ".gitmodules": '[submodule "x"]\npath = media/inner\nurl = https://nowhere.invalid/x\n',
      ".gitattributes": "*.bin filter=lfs\n",
      "media/x.bin": pointer,
    });
    const { fetched, notices } = await fetchAll(
      { repositories: open(), provider },
      environmentOf(url, ["packages/api", "nothing"]),
    );
    expect(fetched).toMatchObject([{ submodules: [], usesLfs: true }]);
    expect(notices).toEqual([`${url}: The commit has no folder "nothing", which \`sparse_paths\` names.`]);
  });
});

describe("a partial mirror", () => {
  test("is separate from a full one, and reads missing files as missing", async () => {
    const { url } = makeOrigin();
    const repositories = open();
    const sparsePaths = ["packages/api"];
    const { mirror, commit } = await repositories.resolve({ url, sparsePaths }, { signal });
    expect(await repositories.find({ url }, commit, { signal })).toBeUndefined();
    expect(await repositories.find({ url, sparsePaths }, commit, { signal })).toBe(mirror);
    const reader = openCommit({ mirror, commit, signal });
    expect(await reader.read(["README.md", "media/b", "media"], { maxBytes: 1_000 })).toMatchObject([
      { type: "file" },
      { type: "missing" },
      { type: "folder" },
    ]);
    expect((await repositories.resolve({ url }, { signal })).mirror).not.toBe(mirror);
  });

  test("is repacked and expires commits without losing its files", async () => {
    const { origin, url } = makeOrigin();
    const repositories = open({ limits: { keepDays: -1 } });
    const resolve = () => repositories.resolve({ url, sparsePaths: ["packages/api"] }, { signal });
    for (let index = 0; index < 11; index++) {
      origin.push("main", { "packages/api/old": `${index}\n`, "media/b": `${index}` });
      await resolve();
    }
    const { mirror, commit } = await resolve();
    const packs = () => readdirSync(join(mirror, "objects/pack")).filter((name) => name.endsWith(".pack"));
    expect(packs().length).toBeLessThan(20);
    await repositories.prune({ keep: [], maxBytes: 1e9 });
    expect(packs().length).toBeLessThan(3);
    expect(git(mirror, "cat-file", "-p", `${commit}:packages/api/old`)).toBe("10");
    expect(await resolve()).toMatchObject({ commit });
    expect(repositories.bytes()).toBeLessThan(20_000);
  });
});

test.each([
  ["a", true],
  ["x/a", true],
  ["x/y/a", true],
  ["x/y/z/a", true],
  ["x/yy/a", false],
  ["z/a", false],
])("with the folder x/y, the file %s is checked out: %s", (path, expected) => {
  expect(isInCone(path, ["x/y"])).toBe(expected);
});
