import { afterAll, beforeAll, expect, test } from "vitest";
import { git, gitWithInput } from "../../repositories/git-server.ts";
import { type Attack, type AttackFixture, openAttackFixture } from "./git-attacks.ts";
import { commitOf, copyDelta, objectId, treeOf, writePack, zeros } from "./pack.ts";
import { deepTree, repeatedTrees } from "./remote-attacks.ts";
import { fifo } from "./sandbox-attacks.ts";

/** Attacks that take longer than the others, because they are as large as an attacker would make them. */
let fixture: AttackFixture;
beforeAll(async () => {
  fixture = await openAttackFixture({ maxRefs: 100_000, fetchMs: 60_000, listMs: 60_000 });
}, 120_000);
afterAll(() => fixture?.stop());

const refs = (commit: string) => [
  `${commit} HEAD symref-target:refs/heads/main`,
  `${commit} refs/heads/main`,
];

const attacks: Attack[] = [
  {
    name: "a file that expands to 256 GiB",
    remote({ hostile }, name) {
      const size = 2 ** 38;
      // git computes the id while it reads the file, which takes longer than the time limit.
      const pack = () => writePack([{ type: "blob", data: Buffer.alloc(0), size, stream: zeros(size) }]);
      hostile.repositories.set(name, { refs: refs("1".repeat(40)), pack: pack() });
      return { url: `http://${hostile.host}/${name}/x.git` };
    },
    expected: { clone: /timed out/ },
  },
  {
    name: "a file of 1 GiB, which is larger than the memory that git may use",
    remote({ hostile }, name) {
      const size = 2 ** 30;
      const id = "b8cbb6dbea3b3a5b9b1f5b2b5f3f3f3f3f3f3f3f";
      const tree = treeOf([["100644", "zeros", id]]);
      const commit = commitOf(objectId("tree", tree));
      const entries = [
        { type: "commit" as const, data: commit },
        { type: "tree" as const, data: tree },
        { type: "blob" as const, data: Buffer.alloc(0), size, stream: zeros(size) },
      ];
      hostile.repositories.set(name, { refs: refs(objectId("commit", commit)), pack: writePack(entries) });
      return { url: `http://${hostile.host}/${name}/x.git` };
    },
    // The tree names another id, so the fetch fails, but only after git has read the whole file.
    expected: { clone: /Failed to fetch|is corrupt/ },
  },
  {
    name: "a thousand deltas of 128 MiB each",
    remote({ hostile }, name) {
      const large = Buffer.alloc(2 ** 16);
      const base = objectId("blob", large);
      const delta = (index: number) => {
        // A literal at the end gives every result an id of its own. 2,047 copies and 4 bytes.
        const literal = Buffer.concat([Buffer.from([4]), Buffer.from(String(index).padStart(4, "0"))]);
        return Buffer.concat([copyDelta(large.length, 2_047, 4), literal]);
      };
      const deltas = Array.from({ length: 1_000 }, (_, index) => ({
        ...{ type: "refDelta" as const, base, data: delta(index) },
      }));
      const pack = writePack([{ type: "blob", data: large }, ...deltas]);
      hostile.repositories.set(name, { refs: refs("1".repeat(40)), pack });
      return { url: `http://${hostile.host}/${name}/x.git` };
    },
    expected: { clone: /Failed to fetch|is corrupt|timed out|memory/ },
  },
  { name: "a tree that is 3,000 folders deep", remote: (own, name) => deepTree(own, name, 3_000) },
  { name: "a few trees that list ten billion files", hangs: true, remote: repeatedTrees },
  { name: "a tree that is 60,000 folders deep", remote: (own, name) => deepTree(own, name, 60_000) },
  {
    name: "50,000 branches",
    remote({ http, origin }, name) {
      const made = origin(name);
      const head = made.run("rev-parse", "HEAD");
      const lines = Array.from({ length: 50_000 }, (_, index) => `create refs/heads/b${index} ${head}\n`);
      gitWithInput(made.bare, lines.join(""), "update-ref", "--stdin");
      git(made.bare, "pack-refs", "--all");
      return { url: `http://${http.host}/${name}.git` };
    },
    expected: { clone: /^done$/ },
  },
  ...[".git/config", ".git/info/exclude", ".gitignore", ".git/refs", ".git/objects", ".git/packed-refs"].map(
    fifo,
  ),
];

test.each(attacks)("$name", { timeout: 600_000 }, async (attack) => {
  const outcomes = await fixture.run(attack);
  for (const [operation, expected] of Object.entries(attack.expected ?? {})) {
    expect(outcomes, operation).toHaveProperty(operation, expect.stringMatching(expected));
  }
  await fixture.expectHealthy();
});
