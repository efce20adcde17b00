import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { KubernetesBases } from "../../src/sandboxes/kubernetes/bases/kubernetes-bases.ts";
import { saveBase } from "../../src/sandboxes/kubernetes/bases/save-base.ts";

type SaveOptions = Parameters<typeof saveBase>[1];

test("an archive that no pod got becomes the base, but another base that no pod got is copied", async () => {
  const root = mkdtempSync(join(tmpdir(), "outrider-bases-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const bases = new KubernetesBases(root);
  const save = async (name: string, unusedBase: string) => {
    const options = { id: "sandbox-1", shared: { bases }, setup: { unusedBase } };
    await saveBase(name, options as unknown as SaveOptions);
  };
  const draft = bases.draftPath("sandbox-1");
  writeFileSync(draft, "archive");
  const { ino } = statSync(draft);
  await save("fetched", draft);
  const { path } = bases.acquire("fetched");
  expect(statSync(path).ino).toBe(ino);
  expect(readdirSync(join(root, ".kubernetes-bases"))).toEqual(["fetched"]);

  await save("copied", path);
  expect(bases.list()).toHaveLength(2);
  expect(readFileSync(bases.acquire("copied").path, "utf8")).toBe("archive");
});
