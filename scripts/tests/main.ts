import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  countFailures,
  filesToRetry,
  mergeRetry,
  namesOfFailed,
  type Results,
  summaryOf,
} from "./results.ts";

/**
 * `make test`: runs the tests and prints `N passed, N failed` as the last line. With `CI` set, files with failed tests
 * run once more, alone; a test that passes then is listed as flaky. See results.ts for the tests that are never retried.
 */

const folder = mkdtempSync(join(tmpdir(), "outrider-tests-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

async function runVitest(name: string, args: string[]): Promise<Results> {
  const file = join(folder, name);
  const env = { ...process.env, OUTRIDER_TEST_RESULTS: file };
  const child = spawn("vitest", ["run", ...args], { stdio: "inherit", env });
  // vitest gets the signal of the terminal as well, and stops what its tests started.
  const ignore = () => {};
  process.on("SIGINT", ignore).on("SIGTERM", () => child.kill("SIGTERM"));
  const [code] = await once(child, "exit");
  process.off("SIGINT", ignore);
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    console.error(`vitest wrote no results and exited with ${code}.`);
    return { files: {}, unattributed: 1 };
  }
}

let results = await runVitest("first.json", process.argv.slice(2));
const retried = process.env.CI ? filesToRetry(results) : [];
if (retried.length > 0) {
  console.log(`\nRetrying: ${retried.join(" ")}`);
  const merged = mergeRetry(results, await runVitest("retry.json", [...retried, "--maxWorkers=1"]));
  results = merged.results;
  for (const name of merged.flaky) console.log(`flaky: ${name}`);
}
for (const name of namesOfFailed(results)) console.log(`failed: ${name}`);
console.log(summaryOf(results));
process.exitCode = countFailures(results) > 0 ? 1 : 0;
