import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { stageFromOutbox } from "../../src/publishing/stage-commits.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { openRepositories } from "../../src/repositories/repositories.ts";
import type { Repositories } from "../../src/repositories/repository.ts";
import { makeFolder, Origin } from "../repositories/git-server.ts";
import { silent } from "../sandboxes/sandbox-support.ts";
import { BlobStore, packOf, policyOf, signal } from "./staging-support.ts";

/** Secrets in commits are found, wherever they are. */

const origins = makeFolder();
const cache = makeFolder();
const secret = "correct-horse-battery-staple";
const key = `ghp_${"q7Zr2Lk9Xw4Tb8Vn3Mc6Hj1Gf5Ds0PaYeUiOo".slice(0, 36)}`;
let repositories: Repositories;
let count = 0;

beforeAll(() => {
  const folder = join(cache.folder, "cache");
  repositories = openRepositories({ folder, allowedPaths: [origins.folder], log: silent });
});
afterAll(() => {
  origins.remove();
  cache.remove();
});

type Files = Record<string, string>;

/** Commits files on top of a repository, one commit after the other, and stages them. */
async function scan(
  commits: { files: Files; message?: string; removed?: string[] }[],
  before: Files = { a: "a\n" },
) {
  const origin = new Origin(origins.folder, `origin-${++count}`);
  const base = origin.push("main", before);
  const ids = commits.map(({ files, message = "change", removed = [] }) => {
    if (removed.length > 0) origin.run("rm", "-q", ...removed);
    return origin.commit(files, message);
  });
  const source = { url: origin.bare };
  const outbox = await repositories.openOutbox(source, { commit: base, signal });
  onTestFinished(() => outbox.remove());
  const tip = ids.at(-1) as string;
  await outbox.ingest(packOf(origin.copy, [tip, `^${base}`]), { maxBytes: 2 ** 26 });
  const store = new BlobStore();
  const staged = await stageFromOutbox(outbox, {
    ...{ tip, signal, server: store, policy: policyOf(), folder: cache.folder },
    repository: { path: "app", url: origin.bare, commit: base },
    redactor: new Redactor([secret]),
    secrets: [{ name: "API_TOKEN", value: secret }],
  });
  expect(JSON.stringify(staged)).not.toContain(secret);
  expect(JSON.stringify(staged)).not.toContain(key);
  expect(store.blobs.size).toBe(staged?.bundle ? 1 : 0);
  return { staged, ids };
}

describe("a known secret", () => {
  test("is found in every form, with commit, path and line, and the commits are not stored", async () => {
    const forms = [
      secret,
      Buffer.from(secret).toString("base64"),
      Buffer.from(secret).toString("hex"),
      encodeURIComponent(`${secret}\n`),
    ];
    const files = Object.fromEntries(forms.map((form, index) => [`dir/file-${index}`, `1\n2\nx=${form}\n`]));
    const { staged, ids } = await scan([{ files }]);
    expect(staged?.secrets).toHaveLength(forms.length);
    for (const index of forms.keys()) {
      const finding = { commit: ids[0], path: `dir/file-${index}`, line: 3, rule: "API_TOKEN" };
      expect(staged?.secrets).toContainEqual(finding);
    }
    expect(staged?.bundle).toBeUndefined();
  });

  test("is found in a commit that a later one reverts, in messages, authors, names and binary files", async () => {
    const { staged, ids } = await scan([
      { files: { config: secret } },
      { files: { b: "b" }, removed: ["config"] },
      { files: { c: "c" }, message: `use ${secret}` },
      { files: { [`${secret}.txt`]: "x" } },
      { files: { film: `\0\x01${"x".repeat(300_000)}${secret}\0` } },
    ]);
    expect(staged?.secrets).toEqual(
      [
        { commit: ids[0], path: "config", line: 1, rule: "API_TOKEN" },
        { commit: ids[2], rule: "API_TOKEN" },
        { commit: ids[3], path: "***.txt", rule: "API_TOKEN" },

        { commit: ids[4], path: "film", line: 1, rule: "API_TOKEN" },
      ].map((finding) => expect.objectContaining(finding)),
    );
    expect(staged?.files).toContainEqual({ path: "***.txt", status: "added" });
  });

  test("that the remote has already does not block other changes", async () => {
    const before = { config: `x=1\ntoken=${secret}\n` };
    const { staged } = await scan([{ files: { config: `x=2\ntoken=${secret}\n` } }], before);
    expect(staged).toMatchObject({ secrets: [], bundle: expect.anything() });
    const added = await scan([{ files: { config: `x=2\ntoken=${secret}\nother=${secret}\n` } }], before);
    expect(added.staged?.secrets).toMatchObject([{ path: "config", line: 3 }]);
  });
});

describe("a key", () => {
  test("is reported by its kind, and the commits are stored for the user to see", async () => {
    const { staged, ids } = await scan([
      { files: { "src/client.ts": `const a = 1;\nconst token = "${key}";\n` } },
    ]);
    expect(staged?.secrets).toEqual([
      { commit: ids[0], path: "src/client.ts", line: 2, rule: "GitHub token" },
    ]);
    expect(staged?.bundle).toBeDefined();
  });

  test("is found in a message, and in a large file", async () => {
    const large = `${"line of a file\n".repeat(200_000)}${key}\n`;
    const { staged, ids } = await scan([{ files: { large }, message: `token ${key}` }]);
    expect(staged?.secrets).toEqual([
      { commit: ids[0], rule: "GitHub token" },
      { commit: ids[0], path: "large", line: 200_001, rule: "GitHub token" },
    ]);
  });
});
