import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { git, gitWithInput, Origin } from "../../repositories/git-server.ts";
import type { Attack, AttackFixture, Target } from "./git-attacks.ts";
import { treeOf } from "./pack.ts";
import { payload, pushTree, writeObject } from "./payload.ts";

/** Repositories whose contents, refs or settings attack those who clone them. */

type Remote = NonNullable<Attack["remote"]>;

const url = ({ http }: AttackFixture, name: string) => `http://${http.host}/${name}.git`;

/** A repository with these files, which moves once. */
function content(files: (hostFolder: string) => Record<string, string>): Remote {
  return (fixture, name) => {
    const origin = fixture.origin(name, files(fixture.hostFolder));
    return { url: url(fixture, name), advance: () => void origin.push("main", { "moved.txt": "moved\n" }) };
  };
}

/** A repository whose root tree has entries that git itself would not create. */
function tree(entries: (blob: string, link: string, folder: string) => [string, string, string][]): Remote {
  return (fixture, name) => {
    const origin = fixture.origin(name);
    const blob = writeObject(
      origin,
      "blob",
      Buffer.from(`#!/bin/sh\n${payload(fixture.hostFolder, "tree")}\n`),
    );
    const link = writeObject(origin, "blob", Buffer.from(fixture.hostFolder));
    const hook = writeObject(origin, "tree", treeOf([["100755", "post-checkout", blob]]));
    const folder = writeObject(origin, "tree", treeOf([["40000", "hooks", hook]]));
    pushTree(origin, writeObject(origin, "tree", treeOf(entries(blob, link, folder))));
    return { url: url(fixture, name) };
  };
}

/** A repository with these files and symlinks, written without git's checks. */
function raw(entries: (hostFolder: string) => [mode: string, name: string, text: string][]): Remote {
  return (fixture, name) => {
    const origin = fixture.origin(name);
    const push = (more: [string, string, string][] = []) => {
      const listed = [...entries(fixture.hostFolder), ...more].map(
        ([mode, path, text]): [string, string, string] => [
          mode,
          path,
          writeObject(origin, "blob", Buffer.from(text)),
        ],
      );
      pushTree(origin, writeObject(origin, "tree", treeOf(listed)));
    };
    push();
    return { url: url(fixture, name), advance: () => push([["100644", "zz-moved.txt", "moved"]]) };
  };
}

/** Settings that make git run programs, in the served repository itself. */
function setPrograms(origin: Origin, hostFolder: string): void {
  const program = (name: string) => payload(hostFolder, name);
  const settings = {
    "core.fsmonitor": program("fsmonitor"),
    "core.sshCommand": program("ssh"),
    "core.pager": program("pager"),
    "core.askPass": program("askpass"),
    "core.hooksPath": join(origin.bare, "hooks"),
    "core.alternateRefsCommand": program("alternate-refs"),
    "core.gitProxy": program("proxy"),
    "credential.helper": `!${program("credential")}`,
    "uploadpack.packObjectsHook": program("pack-objects"),
    "uploadpack.allowFilter": "true",
    "filter.evil.smudge": program("smudge"),
    "filter.evil.process": program("process"),
    "include.path": join(origin.bare, "included"),
    "url.ext::sh -c touch% .insteadOf": "http",
    "protocol.ext.allow": "always",
    "gc.auto": "1",
  };
  for (const [name, value] of Object.entries(settings)) git(origin.bare, "config", name, value);
  writeFileSync(join(origin.bare, "included"), `[core]\n\tfsmonitor = ${program("included")}\n`);
  const hooks = ["pre-auto-gc", "reference-transaction", "post-checkout", "post-index-change", "post-update"];
  for (const hook of hooks) {
    writeFileSync(join(origin.bare, "hooks", hook), `#!/bin/sh\n${program(`hook-${hook}`)}\n`, {
      mode: 0o755,
    });
  }
}

/** A private repository on the host, which the operator has not allowed. Returns its folder and its commit. */
function privateRepository(fixture: AttackFixture, name: string): { bare: string; commit: string } {
  const folder = join(fixture.folder, "..", `private-${name}`);
  mkdirSync(folder);
  const origin = new Origin(folder, "private");
  return { bare: origin.bare, commit: origin.push("main", { "secret.txt": "private\n" }) };
}

/** A repository in an allowed folder that leads to the private one. */
function redirect(make: (path: string, secret: { bare: string; commit: string }) => void): Remote {
  return (fixture, name): Target => {
    const path = join(fixture.folder, `${name}.git`);
    make(path, privateRepository(fixture, name));
    return { url: `file://${path}` };
  };
}

const notAvailable = /does not exist|Failed to fetch|no branch|is empty/;

export const remoteAttacks: Attack[] = [
  {
    name: "hooks, programs and includes in the settings of the served repository",
    remote(fixture, name) {
      const origin = fixture.origin(name);
      setPrograms(origin, fixture.hostFolder);
      return { url: url(fixture, name) };
    },
    expected: { clone: /^done$/, diff: /^done$/ },
  },
  {
    name: "the same over a file URL",
    remote(fixture, name) {
      const origin = fixture.origin(name);
      setPrograms(origin, fixture.hostFolder);
      return { url: `file://${origin.bare}` };
    },
    expected: { clone: /^done$/, diff: /^done$/ },
  },
  {
    name: "the same over ssh, where the server runs git with these settings",
    remote(fixture, name) {
      const origin = fixture.origin(name);
      // Programs would run on the server here, so only settings that a client could inherit are set.
      git(origin.bare, "config", "core.sshCommand", payload(fixture.hostFolder, "ssh"));
      git(origin.bare, "config", "core.fsmonitor", payload(fixture.hostFolder, "fsmonitor"));
      const { ssh } = fixture;
      return { url: `ssh://${ssh.user}@127.0.0.1:${ssh.port}${origin.bare}`, credential: ssh.key };
    },
    expected: { clone: /^done$/, diff: /^done$/ },
  },
  {
    name: "attributes for filters, drivers, encodings and substitutions",
    remote: raw(() => [
      [
        "100644",
        ".gitattributes",
        "*.txt filter=evil diff=evil merge=evil\n*.bin working-tree-encoding=UTF-16LE-BOM\n" +
          "*.bad working-tree-encoding=NO-SUCH-ENCODING\n*.sub export-subst ident\n*.eol text eol=crlf\n[attr]binary diff\n",
      ],
      ["100644", "a.txt", "a\n"],
      ["100644", "b.bin", "not utf-16"],
      ["100644", "c.bad", "\u00ff"],
      ["100644", "d.sub", "$Format:%H$ $Id$\n"],
      ["100644", "e.eol", "a\r\nb\n"],
    ]),
  },
  {
    name: "settings in files that git reads only by mistake",
    remote: content((hostFolder) => ({
      ".gitconfig": `[core]\n\tfsmonitor = ${payload(hostFolder, "gitconfig")}\n`,
      config: `[core]\n\tfsmonitor = ${payload(hostFolder, "config")}\n\tbare = true\n`,
      HEAD: "ref: refs/heads/main\n",
      "objects/info/alternates": "/\n",
      "refs/heads/main": "",
      "hooks/post-checkout": `#!/bin/sh\n${payload(hostFolder, "hook")}\n`,
    })),
    expected: { clone: /^done$/, diff: /^done$/ },
  },
  ...(
    [
      ["an ext:: URL", { url: 'ext::sh -c "touch% HOST/submodule"' }, /is not a supported repository URL/],
      ["a path outside", { path: "../../outside" }, /^done$/],
      ["a path in .git", { path: ".git/hooks" }, /^done$/],
      ["a name outside", { name: "../../../x" }, /invalid name/],
      ["a URL that is an option", { url: "-u./HOST/submodule" }, /is not a supported repository URL/],
      ["a path of the host as its URL", { url: "HOST" }, /is not allowed to read/],
      [
        "a URL with a line break",
        { url: "http://127.0.0.1/\\n[core]\\nfsmonitor=touch HOST/x" },
        /is not a supported repository URL/,
      ],
      ["a command to update it", { name: "y" }, /^done$/],
    ] as const
  ).map(
    ([what, change, expected]): Attack => ({
      name: `a submodule with ${what}`,
      remote(fixture, name) {
        const origin = fixture.origin(name);
        const settings = { name: "x", path: "x", url: url(fixture, name), ...change };
        const text = `[submodule "${settings.name}"]\n\tpath = ${settings.path}\n\turl = ${settings.url}\n\tupdate = !touch HOST/update\n`;
        const modules = writeObject(origin, "blob", Buffer.from(text.replaceAll("HOST", fixture.hostFolder)));
        const head = origin.run("rev-parse", "HEAD");
        pushTree(
          origin,
          writeObject(
            origin,
            "tree",
            treeOf([
              ["100644", ".gitmodules", modules],
              ["160000", "x", head],
            ]),
          ),
        );
        return { url: url(fixture, name) };
      },
      expected: { clone: expected },
    }),
  ),
  {
    name: "a submodule below a symlink to a folder of the host",
    remote(fixture, name) {
      const origin = fixture.origin(name);
      const head = origin.run("rev-parse", "HEAD");
      const text = `[submodule "x"]\n\tpath = x/part\n\turl = ${url(fixture, name)}\n`;
      const blob = (content: string) => writeObject(origin, "blob", Buffer.from(content));
      const folder = writeObject(origin, "tree", treeOf([["160000", "part", head]]));
      const entries: Parameters<typeof treeOf>[0] = [
        ["100644", ".gitmodules", blob(text)],
        ["120000", "x", blob(fixture.hostFolder)],
        ["40000", "x", folder],
      ];
      pushTree(origin, writeObject(origin, "tree", treeOf(entries)));
      return { url: url(fixture, name) };
    },
  },
  {
    name: "symlinks instead of .gitattributes, .gitmodules, .gitignore and AGENTS.md",
    remote: raw((hostFolder) => [
      ["120000", ".gitattributes", "/etc/passwd"],
      ["120000", ".gitignore", "../../../../etc/shadow"],
      ["120000", ".gitmodules", "/proc/self/environ"],
      ["120000", "AGENTS.md", `${hostFolder}/x`],
      ["120000", "loop-a", "loop-b"],
      ["120000", "loop-b", "loop-a"],
    ]),
  },
  {
    name: "symlinks to folders of the host",
    remote: raw((hostFolder) => [
      ["120000", "out", hostFolder],
      ["120000", "root", "/"],
      ["120000", "up", "../../../.."],
    ]),
    expected: { clone: /^done$/, diff: /^done$/, snapshot: /^done$/ },
  },
  { name: "a tree that writes to .git", remote: tree((_, __, folder) => [["40000", ".git", folder]]) },
  {
    name: "a tree with .git in other cases",
    remote: tree((_, __, folder) => [
      ["40000", ".GIT", folder],
      ["40000", ".Git", folder],
    ]),
  },
  {
    name: "a tree with the NTFS name of .git",
    remote: tree((_, __, folder) => [
      ["40000", "git~1", folder],
      ["40000", ".git ", folder],
    ]),
  },
  {
    name: "a tree with the HFS name of .git",
    remote: tree((_, __, folder) => [
      ["40000", ".g\u200cit", folder],
      ["40000", ".gi\u200dt", folder],
    ]),
  },
  {
    name: "a tree with .. and .",
    remote: tree((_, __, folder) => [
      ["40000", ".", folder],
      ["40000", "..", folder],
    ]),
  },
  {
    name: "a tree with slashes in names",
    remote: tree((blob) => [
      ["100755", "../../escaped", blob],
      ["100755", "/tmp/escaped", blob],
      ["100755", "..\\escaped", blob],
    ]),
  },
  { name: "a tree with .git as a symlink", remote: tree((_, link) => [["120000", ".git", link]]) },
  { name: "a tree with .git as a file", remote: tree((blob) => [["100644", ".git", blob]]) },
  {
    name: "a tree with the same name as a symlink and a folder",
    remote: tree((_, link, folder) => [
      ["120000", "a", link],
      ["40000", "a", folder],
    ]),
  },
  {
    name: "names that differ only in case, one a symlink",
    remote: tree((_, link, folder) => [
      ["120000", "A", link],
      ["40000", "a", folder],
    ]),
  },
  {
    name: "entries with unknown modes",
    remote: tree((blob, _, folder) => [
      ["100777", "b", blob],
      ["104755", "c", blob],
      ["20666", "d", blob],
      ["40777", "e", folder],
    ]),
  },
  {
    name: "names with control characters",
    remote: tree((blob) => [
      ["100644", "\u001b[2Jx", blob],
      ["100644", "a\nb", blob],
      ["100644", 'a\tb"', blob],
      ["100644", "-rf", blob],
    ]),
  },
  ...["--upload-pack=touch", "-x", "--exec", "-b"].map(
    (branch): Attack => ({
      name: `a branch with the name ${branch}`,
      remote(fixture, name) {
        const origin = fixture.origin(name);
        origin.push(branch, { "a.txt": "a\n" });
        return {
          url: url(fixture, name),
          ref: branch,
          advance: () => void origin.push(branch, { "moved.txt": "moved\n" }),
        };
      },
      expected: { clone: /^done$/, update: /^done$/, diff: /^done$/ },
    }),
  ),
  {
    name: "a tag, a note and a replacement with hostile names",
    remote(fixture, name) {
      const origin = fixture.origin(name);
      const head = origin.run("rev-parse", "HEAD");
      for (const ref of ["refs/tags/--force", "refs/notes/commits", "refs/stash", `refs/replace/${head}`]) {
        git(origin.bare, "update-ref", ref, head);
      }
      return { url: url(fixture, name), ref: "--force" };
    },
    expected: { clone: /^done$/, diff: /^done$/ },
  },
  {
    name: "a tree that is a thousand folders deep",
    remote: (fixture, name) => deepTree(fixture, name, 1_000),
    expected: { clone: /^done$/, diff: /^done$/, snapshot: /^done$/ },
  },
  {
    name: "a few trees that list ten billion files",
    fetchOnly: true,
    remote: repeatedTrees,
    expected: { clone: /^done$/ },
  },
  {
    name: "a file name of 8 MiB",
    fetchOnly: true,
    remote: tree((blob) => [["100644", "n".repeat(8 * 2 ** 20), blob]]),
    expected: { clone: /^done$/ },
  },
  {
    name: "hundreds of large .gitattributes files",
    fetchOnly: true,
    remote(fixture, name) {
      const origin = fixture.origin(name);
      const blob = writeObject(origin, "blob", Buffer.alloc(2 ** 20, "# comment\n"));
      const folder = writeObject(origin, "tree", treeOf([["100644", ".gitattributes", blob]]));
      const entries = Array.from({ length: 200 }, (_, index) => `f${String(index).padStart(3, "0")}`);
      pushTree(origin, writeObject(origin, "tree", treeOf(entries.map((entry) => ["40000", entry, folder]))));
      return { url: url(fixture, name) };
    },
    expected: { clone: /^done$/ },
  },
  {
    name: "more branches than the worker allows",
    remote(fixture, name) {
      const origin = fixture.origin(name);
      const head = origin.run("rev-parse", "HEAD");
      const lines = Array.from({ length: 600 }, (_, index) => `create refs/heads/b${index} ${head}\n`);
      gitWithInput(origin.bare, lines.join(""), "update-ref", "--stdin");
      git(origin.bare, "pack-refs", "--all");
      return { url: url(fixture, name) };
    },
    expected: { clone: /has 601 branches and tags, but this worker allows 500/ },
  },
  {
    name: "a .git file that leads to a private repository",
    remote: redirect((path, { bare }) => {
      mkdirSync(path);
      writeFileSync(join(path, ".git"), `gitdir: ${bare}\n`);
    }),
    expected: { clone: notAvailable },
  },
  {
    name: "a .git symlink that leads to a private repository",
    remote: redirect((path, { bare }) => {
      mkdirSync(path);
      symlinkSync(bare, join(path, ".git"));
    }),
    expected: { clone: notAvailable },
  },
  {
    name: "a commondir that leads to a private repository",
    remote: redirect((path, { bare }) => {
      git("/", "init", "--quiet", "--bare", "--initial-branch=main", path);
      writeFileSync(join(path, "commondir"), `${bare}\n`);
    }),
    expected: { clone: notAvailable },
  },
  {
    name: "alternates that lead to a private repository",
    remote: redirect((path, { bare, commit }) => {
      git("/", "init", "--quiet", "--bare", "--initial-branch=main", path);
      writeFileSync(join(path, "objects/info/alternates"), `${bare}/objects\n`);
      writeFileSync(join(path, "refs/heads/main"), `${commit}\n`);
    }),
    expected: { clone: notAvailable },
  },
  {
    name: "symlinked objects and refs of a private repository",
    remote: redirect((path, { bare }) => {
      git("/", "init", "--quiet", "--bare", "--initial-branch=main", path);
      for (const name of ["objects", "refs"]) {
        rmSync(join(path, name), { recursive: true });
        symlinkSync(join(bare, name), join(path, name));
      }
    }),
    expected: { clone: notAvailable },
  },
  {
    name: "a worktree of a private repository",
    remote: redirect((path, { bare }) => {
      git(bare, "worktree", "add", "--quiet", "--detach", path, "main");
    }),
    expected: { clone: notAvailable },
  },
  {
    name: "objects that are missing or damaged on the server",
    remote(fixture, name) {
      const origin = fixture.origin(name);
      const tree = origin.run("rev-parse", "HEAD^{tree}");
      const loose = join(origin.bare, "objects", tree.slice(0, 2), tree.slice(2));
      chmodSync(loose, 0o644);
      renameSync(loose, `${loose}.moved`);
      return { url: url(fixture, name) };
    },
    expected: { clone: /is corrupt, or its server sent invalid data/ },
  },
];

/** A repository with ten trees, each of which contains the next one ten times. */
export function repeatedTrees(fixture: AttackFixture, name: string): Target {
  const origin = fixture.origin(name);
  let [mode, id] = ["100644", writeObject(origin, "blob", Buffer.from("x"))];
  for (let level = 0; level < 10; level++) {
    const entries = Array.from({ length: 10 }, (_, index): [string, string, string] => [
      mode,
      `d${index}`,
      id,
    ]);
    [mode, id] = ["40000", writeObject(origin, "tree", treeOf(entries))];
  }
  pushTree(origin, id);
  return { url: url(fixture, name) };
}

/** A repository whose only file is at the end of a path of this many folders. */
export function deepTree(fixture: AttackFixture, name: string, depth: number): Target {
  const origin = fixture.origin(name);
  const lines = [
    "blob\nmark :1\ndata 1\nx\n",
    "commit refs/heads/main\n",
    "committer t <t@example.com> 1 +0000\n",
  ];
  // fast-import creates all trees of a path at once.
  gitWithInput(
    origin.bare,
    `${lines.join("")}data 0\nM 100644 :1 ${"d/".repeat(depth)}f\n\n`,
    "fast-import",
    "--quiet",
    "--force",
  );
  return { url: url(fixture, name) };
}
