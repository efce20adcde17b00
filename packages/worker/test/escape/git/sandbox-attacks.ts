import { quote } from "../../../src/quote.ts";
import type { Attack } from "./git-attacks.ts";
import { HOST_FOLDER, payload } from "./payload.ts";

/**
 * What an agent can write to its checkout before the worker updates, compares, packs or stores it. Each script runs in
 * /workspace. Programs create /workspace/ran-NAME, which proves that the attack works inside the sandbox. They also
 * create a file in a folder of the host, which they can only reach if they run outside of the sandbox.
 */

const program = (name: string) => payload(HOST_FOLDER, name);
/** The URL of a program. git appends the rest of a replaced URL, which becomes another argument. */
const programUrl = (name: string) =>
  `ext::sh -c touch% ${HOST_FOLDER}/${name};% touch% /workspace/ran-${name};% :% `;
/** Sets one of git's settings. */
const setting = (name: string, value: string) => `git config ${quote(name)} ${quote(value)}`;
const inRepository = (...lines: string[]) => `set -e\ncd /workspace/repository\n${lines.join("\n")}`;
const change = "echo changed >> README.md";

/** Replaces a file of git by a fifo, on which a reader waits forever. */
export const fifo = (path: string): Attack => ({
  name: `a fifo instead of ${path}`,
  hangs: true,
  inside: inRepository(`rm -rf ${path}; mkdir -p $(dirname ${path}); mkfifo ${path}`),
});

export const sandboxAttacks: Attack[] = [
  {
    name: "hooks in the checkout",
    inside: inRepository(
      change,
      "mkdir -p .git/hooks",
      "for hook in post-checkout post-merge post-index-change reference-transaction pre-commit fsmonitor-watchman; do",
      `printf '#!/bin/sh\\n${program("hook")}\\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook`,
      "done",
      "git config core.hooksPath .git/hooks",
    ),
    expected: { update: /^done$/, diff: /^done$/, snapshot: /^done$/ },
  },
  {
    name: "a clean filter",
    inside: inRepository(
      change,
      "echo '* filter=evil' > .gitattributes",
      setting("filter.evil.clean", `${program("clean")}; cat`),
    ),
    expected: { diff: /^done$/ },
    proof: "ran-clean",
  },
  {
    name: "a smudge filter",
    inside: inRepository(
      change,
      "echo '* filter=evil' > .gitattributes",
      setting("filter.evil.smudge", `${program("smudge")}; cat`),
    ),
    proof: "ran-smudge",
  },
  {
    name: "a filter process",
    inside: inRepository(
      change,
      "echo '* filter=evil' > .gitattributes",
      setting("filter.evil.process", program("process")),
    ),
    proof: "ran-process",
  },
  {
    name: "a filter that never ends",
    hangs: true,
    inside: inRepository(
      change,
      "echo '*.md filter=evil' > .gitattributes",
      setting("filter.evil.clean", "sleep 1000"),
    ),
    expected: { diff: /did not finish within/ },
  },
  {
    name: "a filter with endless output",
    hangs: true,
    inside: inRepository(
      change,
      "echo '*.md filter=evil' > .gitattributes",
      setting("filter.evil.clean", "cat > /dev/null; yes"),
    ),
  },
  {
    name: "programs in all settings",
    inside: inRepository(
      change,
      "mkdir -p .git/info; echo '* diff=evil merge=evil' > .git/info/attributes",
      ...[
        ...[
          "core.fsmonitor",
          "core.sshCommand",
          "core.pager",
          "core.editor",
          "core.askPass",
          "core.gitProxy",
        ],
        ...[
          "core.alternateRefsCommand",
          "diff.external",
          "diff.evil.textconv",
          "diff.evil.command",
          "gpg.program",
        ],
        ...["interactive.diffFilter", "merge.evil.driver", "sequence.editor", "uploadpack.packObjectsHook"],
        ...["credential.helper", "remote.origin.uploadpack", "remote.origin.vcs", "pager.diff", "alias.diff"],
      ].map((name) => setting(name, `!${program("setting")}`)),
    ),
    expected: { update: /^done$/, diff: /^done$/, snapshot: /^done$/ },
  },
  {
    name: "replaced URLs and the ext protocol",
    inside: inRepository(
      change,
      "git config protocol.ext.allow always",
      setting(`url.${programUrl("url")}.insteadOf`, "/mirror"),
      `git config --add ${quote(`url.${programUrl("url")}.insteadOf`)} https://git.example.com`,
    ),
    expected: { diff: /^done$/ },
  },
  {
    name: "included settings of the host",
    inside: inRepository(
      change,
      `printf '[include]\\npath = /etc/passwd\\n[includeIf "gitdir:/"]\\npath = /proc/self/environ\\n' >> .git/config`,
    ),
  },
  {
    name: "a promisor remote that runs a program",
    inside: inRepository(
      change,
      "git config extensions.partialClone evil; git config remote.evil.promisor true; git config protocol.ext.allow always",
      setting("remote.evil.url", programUrl("promisor")),
      "find .git/objects -type f -delete",
    ),
  },
  {
    name: "alternates that lead to the mirror and the host",
    inside: inRepository(
      change,
      "printf '/mirror/objects\\n/proc/1/root/\\n/\\n../../../../..\\n' > .git/objects/info/alternates",
    ),
    expected: { diff: /^done$/ },
  },
  {
    name: "a .git file that leads outside",
    inside: inRepository(change, "mv .git ../moved; echo 'gitdir: /proc/1/root/mirror' > .git"),
  },
  {
    name: "a .git symlink that leads to the mirror",
    inside: inRepository(change, "rm -rf .git; ln -s /mirror .git"),
  },
  {
    name: "a .git symlink that leads to itself",
    inside: inRepository(change, "rm -rf .git; ln -s .git .git"),
    expected: { diff: /./ },
  },
  {
    name: "a commondir that leads to the mirror",
    inside: inRepository(change, "echo /mirror > .git/commondir"),
  },
  {
    name: "a commondir that leads to the root of the sandbox",
    inside: inRepository(change, "echo / > .git/commondir"),
  },
  {
    name: "a worktree outside of the checkout",
    inside: inRepository(change, "git config core.worktree /; git config core.bare false"),
  },
  {
    name: "a worktree in /etc, with settings of its own",
    inside: inRepository(
      change,
      "git config extensions.worktreeConfig true",
      `printf '[core]\\nworktree = /etc\\nfsmonitor = "${program("worktree")}"\\n' > .git/config.worktree`,
    ),
  },
  {
    name: "symlinks instead of objects, refs, index and HEAD",
    inside: inRepository(
      change,
      "for name in objects refs index HEAD packed-refs; do rm -rf .git/$name; ln -s /proc/1/root/etc/passwd .git/$name; done",
    ),
  },
  fifo(".git/index"),
  fifo(".git/HEAD"),
  fifo(".gitattributes"),
  fifo("README.md"),
  {
    name: "a damaged index, refs and packs",
    inside: inRepository(
      change,
      "head -c 5000 /dev/urandom > .git/index; head -c 5000 /dev/urandom > .git/packed-refs",
      "for pack in .git/objects/pack/*; do chmod +w $pack; truncate -s 100 $pack; done",
    ),
  },
  {
    name: "an index that links to a shared index outside",
    hangs: true,
    inside: inRepository(
      change,
      "git update-index --split-index; rm -f .git/sharedindex.*; ln -s /dev/zero .git/sharedindex.$(printf '0%.0s' {1..40})",
    ),
  },
  {
    name: "settings of 32 MiB",
    inside: inRepository(change, "yes '[a \"b\"] c = d' | head -c 33554432 >> .git/config"),
  },
  {
    name: "a setting that a program completes",
    inside: inRepository(change, "printf '[core]\\n\\tpager = ' >> .git/config"),
  },
  {
    name: "a symlink instead of the checkout",
    inside: "cd /workspace && mv repository moved && ln -s / repository",
  },
  {
    name: "a file instead of the checkout",
    inside: "cd /workspace && rm -rf repository && touch repository",
  },
  {
    name: "an inner repository with programs, as a submodule",
    inside: inRepository(
      change,
      "git init -q inner && git -C inner -c user.name=x -c user.email=x commit -q --allow-empty -m x",
      `git -C inner config core.fsmonitor '${program("inner")}'`,
      `printf '[submodule "inner"]\\npath = inner\\nurl = ext::sh\\nupdate = "!${program("update")}"\\n' > .gitmodules`,
      "git config submodule.recurse true; git config diff.submodule log; git config status.submoduleSummary true",
    ),
  },
  {
    name: "file names with line breaks, escapes and options",
    inside: inRepository(
      change,
      "touch -- $'a\\nb' $'\\e[2J' '--cached' '-rf' $'\\xff\\xfe' 'x\"y' $'rename from x'; mkdir -- '--'; touch -- '--/--'",
    ),
    expected: { diff: /^done$/, snapshot: /^done$/ },
  },
  {
    name: "special files, large sparse files and folders without access",
    inside: inRepository(
      change,
      "mkfifo pipe; truncate -s 200M sparse; echo sparse >> .gitignore; ln -s / link; mkdir -p closed/in; chmod 000 closed",
      "cp /usr/bin/id setuid; chmod 6755 setuid; ln setuid hard",
    ),
    expected: { snapshot: /^done$/ },
  },
  {
    name: "a sparse file that git would have to read",
    hangs: true,
    inside: inRepository(change, "truncate -s 200M sparse"),
    expected: { snapshot: /^done$/ },
  },
  {
    name: "a path that is longer than Linux allows",
    inside: inRepository(
      change,
      "for i in {1..40}; do mkdir -p $(printf 'd%.0s' {1..200}) && cd d*; done; touch end",
    ),
    expected: { build: /contains a path of more than 4,096 bytes/ },
  },
  {
    name: "attributes of overlays",
    inside: inRepository(
      change,
      "for name in user.overlay.opaque user.overlay.redirect user.overlay.whiteout; do",
      `perl -e '$value = "y"; syscall(188, $ARGV[0], $ARGV[1], $value, 1, 0)' . $name; done`,
      "mknod whiteout c 0 0 || true; touch .wh.README.md",
    ),
    expected: { snapshot: /^done$/ },
  },
];
