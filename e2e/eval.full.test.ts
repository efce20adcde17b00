import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root, run } from "./process.ts";

test("the judge of every task accepts its solution and rejects its wrong answer", {
  timeout: 1_800_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "outrider-eval-full-"));
  const file = join(folder, "report.json");
  const suite = join(root, "eval/tasks");
  const { ended, stderr } = run(["eval", "--suite", suite, "--model", "scripted", "--json", file]);
  const { code } = await ended;
  const { results, skipped_tasks, models } = JSON.parse(readFileSync(file, "utf8"));
  expect(results.filter(({ as_expected }: { as_expected: boolean }) => !as_expected)).toEqual([]);
  expect(skipped_tasks).toEqual([]);
  expect(models[0].attempts).toBeGreaterThanOrEqual(80);
  expect(code, stderr()).toBe(0);
  rmSync(folder, { recursive: true });
});
