import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openRepositories } from "../../src/repositories/repositories.ts";
import type { Repositories } from "../../src/repositories/repository.ts";
import { findSubmodules, resolveUrl } from "../../src/repositories/submodules.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { makeRoot, silent } from "../sandboxes/sandbox-support.ts";
import { checkOut, fetchAll, type Repos } from "./checkout-support.ts";
import { type HttpServer, makeFolder, Origin, type SshServer, serveHttp, serveSsh } from "./git-server.ts";

/** Submodules of the environment's repositories: how they are fetched, checked out and compared. */

const { root, remove } = makeRoot();
const origins = makeFolder();
const other = makeFolder();
const local = makeFolder();
const sshFolder = makeFolder();
let server: HttpServer;
let otherServer: HttpServer;
let ssh: SshServer;
let provider: SandboxProvider;
let repositories: Repositories;
let count = 0;

beforeAll(async () => {
  provider = await openLocalProvider({ root, log: silent });
  [server, otherServer, ssh] = await Promise.all([
    serveHttp(origins.folder, "ada:first-token"),
    serveHttp(other.folder, "bob:second-token"),
    serveSsh(sshFolder.folder),
  ]);
  repositories = openRepositories({
    folder: join(root, "..", "repositories"),
    allowedPaths: [local.folder],
    insecureHosts: [server.host, otherServer.host],
    log: silent,
  });
});
afterAll(async () => {
  await Promise.all([server?.stop(), otherServer?.stop(), ssh?.stop()]);
  await provider?.stop();
  await remove();
  for (const folder of [origins, other, local, sshFolder]) folder.remove();
});

const credentials = { FIRST: "ada:first-token", SECOND: "bob:second-token" };

function makeOrigin(folder = origins.folder) {
  const name = `origin-${++count}`;
  const origin = new Origin(folder, name);
  origin.push("main", { a: `${name}\n` });
  const { host } = folder === origins.folder ? server : otherServer;
  return { origin, name, url: `http://${host}/${name}.git` };
}

interface Link {
  path: string;
  url: string;
  commit: string;
  name?: string;
  settings?: string;
}

/** Commits submodules by their tree entries, as any author can. */
function pushLinks(origin: Origin, links: Link[]): string {
  const sections = links.map(
    ({ path, url, name = path, settings = "" }) =>
      `[submodule "${name}"]\n\tpath = ${path}\n\turl = ${url}\n${settings}`,
  );
  for (const { path, commit } of links) {
    origin.run("update-index", "--add", "--cacheinfo", `160000,${commit},${path}`);
    mkdirSync(join(origin.copy, path), { recursive: true });
  }
  return pushModules(origin, sections.join(""));
}

function pushModules(origin: Origin, modules: string): string {
  return origin.push("main", { ".gitmodules": modules });
}

const head = (origin: Origin) => origin.run("rev-parse", "HEAD");

const fixture = () => ({ repositories, provider });
const environmentOf = (url: string, more: object = {}): Repos => ({
  repos: [{ url, path: "top", secret: "FIRST", ...more }],
  credentials,
});

describe("submodules", () => {
  test("are checked out recursively, without network, as git would leave them", async () => {
    const [top, middle, leaf] = [makeOrigin(), makeOrigin(), makeOrigin()];
    const leafCommit = head(leaf.origin);
    leaf.origin.push("main", { a: "newer\n" });
    const middleCommit = pushLinks(middle.origin, [{ path: "leaf", url: leaf.url, commit: leafCommit }]);
    pushLinks(top.origin, [
      { path: "parts/middle one", name: "named", url: `../${middle.name}.git`, commit: middleCommit },
      {
        path: "skipped",
        url: "https://nowhere.invalid/x",
        commit: leafCommit,
        settings: "\tupdate = none\n",
      },
    ]);
    const { bash, diff } = await checkOut(fixture(), environmentOf(top.url));
    expect(await bash("cat 'top/parts/middle one/'{a,leaf/a}")).toBe(`${middle.name}\n${leaf.name}`);
    expect((await bash("cd top && git submodule status --recursive")).replaceAll(/ \(.*\)/g, "")).toBe(
      [
        ` ${middleCommit} parts/middle one`,
        ` ${leafCommit} parts/middle one/leaf`,
        `-${leafCommit} skipped`,
      ].join("\n"),
    );
    expect(
      await bash("cd top && git status --porcelain && git -C 'parts/middle one' status --porcelain"),
    ).toBe("");
    expect(await bash("git -C 'top/parts/middle one' remote get-url origin")).toBe(middle.url);
    expect(
      await bash("git -C 'top/parts/middle one/leaf' config core.worktree; cat 'top/parts/middle one/.git'"),
    ).toBe("../../../../../parts/middle one/leaf\ngitdir: ../../.git/modules/named");
    expect(
      await bash(
        "git -C top submodule update --init --recursive 'parts/middle one' && mv top moved && git -C 'moved/parts/middle one' status --porcelain && mv moved top",
      ),
    ).toBe("");
    expect(await bash("grep -rlE 'first-token|/run/outrider' top || true")).toBe("");
    expect(await diff()).toBe("");
  });

  test("can be turned off", async () => {
    const [top, part] = [makeOrigin(), makeOrigin()];
    pushLinks(top.origin, [{ path: "part", url: part.url, commit: head(part.origin) }]);
    server.requests.length = 0;
    const { fetched, notices } = await fetchAll(fixture(), environmentOf(top.url, { submodules: false }));
    expect({ submodules: fetched[0]?.submodules, notices }).toEqual({ submodules: [], notices: [] });
    expect(server.requests.filter(({ url }) => url.includes(part.name))).toEqual([]);
  });

  test("follow a branch that has moved", async () => {
    const [top, part, added] = [makeOrigin(), makeOrigin(), makeOrigin()];
    pushLinks(top.origin, [{ path: "part", url: part.url, commit: head(part.origin) }]);
    const first = await checkOut(fixture(), environmentOf(top.url));
    await first.bash("touch top/part/untracked");
    const commit = part.origin.push("main", { a: "moved\n" });
    pushLinks(top.origin, [
      { path: "part", url: part.url, commit },
      { path: "added", url: added.url, commit: head(added.origin) },
    ]);
    const { bash, diff } = await first.continue();
    expect(await bash("cat top/{part,added}/a; ls top/part")).toBe(`moved\n${added.name}\na\nuntracked`);
    expect(await bash("git -C top status --porcelain --ignore-submodules=untracked")).toBe("");
    expect(await diff()).toContain("b/part/untracked");
  });

  test("are part of the diff, with their files", async () => {
    const [top, part] = [makeOrigin(), makeOrigin()];
    const commit = head(part.origin);
    pushLinks(top.origin, [{ path: "part", url: part.url, commit }]);
    const { bash, diff } = await checkOut(fixture(), environmentOf(top.url));
    await bash("echo changed > top/part/a; mkdir top/part/x; printf 'a\\0b' > top/part/x/b; echo 1 > top/c");
    const patch = await diff();
    expect(patch).toMatch(
      /^diff --git a\/c b\/c\n[\s\S]*\ndiff --git a\/part\/a b\/part\/a\n[\s\S]*\n\+changed\n/,
    );
    expect(patch).toContain("diff --git a/part/x/b b/part/x/b\n");
    await bash(`cat > /tmp/patch <<'EOF'\n${patch}EOF`);
    await bash("git config --global user.name a; git config --global user.email b");
    const clean = "git -C top stash -q -u && git -C top/part stash -q -u";
    expect(await bash(`${clean} && git -C top apply /tmp/patch && cat top/part/a`)).toBe("changed");
    await bash("cd top/part && git add -A && git commit -qm x");
    expect(await diff()).toMatch(/\n-Subproject commit [\s\S]*\n\+changed\n/);
  });

  test("without a URL are named in a notice", async () => {
    const top = makeOrigin();
    top.origin.run("update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},lost`);
    top.origin.run("commit", "--quiet", "--message", "x");
    top.origin.run("push", "--quiet", "origin", "HEAD:refs/heads/main");
    const { notices } = await fetchAll(fixture(), environmentOf(top.url));
    expect(notices).toEqual([
      `${top.url}: The submodule lost is not checked out, because .gitmodules has no URL for it.`,
    ]);
  });
});

describe("the credential of a repository", () => {
  test("is never sent to another host", async () => {
    const [top, part] = [makeOrigin(), makeOrigin(other.folder)];
    pushLinks(top.origin, [{ path: "part", url: part.url, commit: head(part.origin) }]);
    otherServer.requests.length = 0;
    await expect(fetchAll(fixture(), environmentOf(top.url))).rejects.toMatchObject({
      code: "external_authentication_required",
      message: expect.stringMatching(
        new RegExp(
          `^Cannot fetch the submodule "part" from ${part.url}: .* Add a repository with this URL and a secret`,
        ),
      ),
    });
    expect(otherServer.requests.length).toBeGreaterThan(0);
    expect(otherServer.requests.filter(({ authorization }) => authorization)).toEqual([]);
  });

  test("of another repository in the environment is used for the same URL", async () => {
    const [top, part] = [makeOrigin(), makeOrigin(other.folder)];
    pushLinks(top.origin, [{ path: "part", url: part.url, commit: head(part.origin) }]);
    const environment = environmentOf(top.url);
    environment.repos.push({ url: part.url.replace(/\.git$/, ""), path: "own", secret: "SECOND" });
    const { fetched } = await fetchAll(fixture(), environment);
    expect(fetched[0]?.submodules).toMatchObject([{ path: "part", url: part.url }]);
  });

  test("opens submodules over ssh too", async () => {
    const [top, part] = [makeOrigin(), makeOrigin()];
    const base = `ssh://${ssh.user}@127.0.0.1:${ssh.port}${origins.folder}`;
    pushLinks(top.origin, [{ path: "part", url: `../${part.name}.git`, commit: head(part.origin) }]);
    const environment = { repos: [{ url: `${base}/${top.name}.git`, path: "top", secret: "KEY" }] };
    const { fetched } = await fetchAll(fixture(), { ...environment, credentials: { KEY: ssh.key } });
    expect(fetched[0]?.submodules).toMatchObject([{ url: `${base}/${part.name}.git` }]);
  });
});

test("a token opens submodules with an ssh URL of the same host over https", async () => {
  const { origin } = makeOrigin();
  const links = [
    "git@git.example.com:a/part.git",
    "ssh://git@git.example.com/a/part",
    "git@other.example.com:a/part",
  ];
  const id = head(origin);
  const commit = pushLinks(
    origin,
    links.map((url, index) => ({ path: `part-${index}`, url, commit: id })),
  );
  const url = "https://git.example.com/a/top.git";
  const sources = await findSubmodules({
    parent: {
      repository: { url, credential: "token", sharedBy: "TOKEN" },
      address: { kind: "https", url, host: "git.example.com" },
      ...{ mirror: origin.bare, commit },
    },
    gitlinks: links.map((_, index) => ({ path: `part-${index}`, id })),
    lenders: [],
    rules: { allowedPaths: [], insecureHosts: [] },
    signal: new AbortController().signal,
    emitNotice: () => {},
  });
  const secret = { credential: "token", sharedBy: "TOKEN", commit: id };
  expect(sources.map((source) => source.repository)).toEqual([
    { url: "https://git.example.com/a/part.git", ...secret },
    { url: "https://git.example.com/a/part", ...secret },
    { url: "git@other.example.com:a/part", commit: id },
  ]);
  expect(sources.map((source) => source.url)).toEqual(links);
});

describe("hostile submodules", () => {
  test.for([
    ["an ext:: URL", { url: "ext::sh -c 'touch /tmp/trapped'" }, /is not a supported repository URL/],
    ["a URL that is an option", { url: "-u./x" }, /is not a supported repository URL/],
    ["a URL with credentials", { url: "https://a:b@host/x" }, /contains credentials/],
    ["a folder of the worker", { url: "file:///etc" }, /not allowed to read/],
    ["a relative URL that leads elsewhere", { url: "../../../../../../etc" }, /not a supported|not allowed/],
    ["a name that leads elsewhere", { name: "../../x" }, /invalid name/],
    ["a name that is an option", { name: "-x" }, /invalid name/],
    ["a path that is an option", { path: "-x" }, /invalid path/],
    ["a commit that does not exist", { commit: "1".repeat(40) }, /no branch, tag or commit/],
  ] as const)("with %s fail with a clear error", async ([, change, message]) => {
    const [top, part] = [makeOrigin(), makeOrigin()];
    pushLinks(top.origin, [{ path: "part", url: part.url, commit: head(part.origin), ...change }]);
    await expect(fetchAll(fixture(), environmentOf(top.url))).rejects.toMatchObject({
      code: "environment_setup_failed",
      message: expect.stringMatching(message),
    });
  });

  test("cannot refer to an allowed folder of the worker from another host", async () => {
    const top = makeOrigin();
    const inner = new Origin(local.folder, "inner");
    const commit = inner.push("main", { a: "1" });
    const localTop = new Origin(local.folder, "top");
    const links = [{ path: "part", url: `file://${inner.bare}`, commit }];
    pushLinks(top.origin, links);
    pushLinks(localTop, links);
    await expect(fetchAll(fixture(), environmentOf(top.url))).rejects.toThrow(
      "Only a repository on the worker's machine can have a submodule there.",
    );
    const { fetched } = await fetchAll(fixture(), { repos: [{ url: localTop.bare, path: "top" }] });
    expect(fetched[0]?.submodules).toMatchObject([{ path: "part", commit }]);
  });

  test("are limited in number and depth", async () => {
    const [top, part] = [makeOrigin(), makeOrigin()];
    const link = { url: part.url, commit: head(part.origin) };
    pushLinks(
      top.origin,
      Array.from({ length: 51 }, (_, index) => ({ ...link, path: `part-${index}` })),
    );
    await expect(fetchAll(fixture(), environmentOf(top.url))).rejects.toThrow("has more than 50 submodules");
    const nested = makeOrigin();
    for (let depth = 0; depth < 6; depth++) {
      pushLinks(nested.origin, [{ path: "self", url: nested.url, commit: head(nested.origin) }]);
    }
    await expect(fetchAll(fixture(), environmentOf(nested.url))).rejects.toThrow("more than 5 levels deep");
  });

  test("with an unreadable .gitmodules fail with a clear error", async () => {
    const top = makeOrigin();
    pushLinks(top.origin, [{ path: "part", url: top.url, commit: head(top.origin) }]);
    pushModules(top.origin, "[submodule");
    await expect(fetchAll(fixture(), environmentOf(top.url))).rejects.toThrow("git cannot read .gitmodules");
    pushModules(top.origin, `${"#".repeat(300_000)}\n`);
    await expect(fetchAll(fixture(), environmentOf(top.url))).rejects.toThrow(".gitmodules is too large");
  });
});

test.each([
  ["../b.git", "https://host/x/a.git", "https://host/x/b.git"],
  ["./b", "https://host/a", "https://host/a/b"],
  ["../../y/b.git", "https://host/x/a.git/", "https://host/y/b.git"],
  ["../b.git", "git@host:x/a.git", "git@host:x/b.git"],
  ["../b.git", "git@host:a.git", "git@host:b.git"],
  ["https://other/b", "https://host/a", "https://other/b"],
])("the URL %s of %s is %s", (url, parent, expected) => {
  expect(resolveUrl(url, parent)).toBe(expected);
});
