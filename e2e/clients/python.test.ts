import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorld, type World } from "../../packages/worker/test/world.ts";
import { root, watch } from "../process.ts";
import { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";

const folder = join(root, "sdks/python");
const python = join(root, ".tools/python/bin/python");

let world: World;
let proxy: FaultProxy;

beforeAll(async () => {
  world = await startWorld();
  await world.worker();
  proxy = await startFaultProxy(world.origin);
});

afterAll(async () => {
  await proxy?.close();
  await world?.stop();
});

/** What it says is in the failure, where it fails. */
async function run(args: string[], environment: Record<string, string> = {}) {
  const child = spawn(python, args, {
    cwd: folder,
    env: {
      ...process.env,
      NO_PROXY: "127.0.0.1",
      PYTHONDONTWRITEBYTECODE: "1",
      PYTHONPATH: join(folder, "src"),
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const running = watch(child, args.join(" "));
  const { code } = await running.ended;
  const said = running.stdout() + running.stderr();
  expect(code, said.slice(-12_000)).toBe(0);
  return running.stdout();
}

describe("the Python client", () => {
  test("does what its tests say, against the server behind the proxy", { timeout: 240_000 }, async () => {
    const said = await run(["-m", "pytest", "-q"], {
      OUTRIDER_TEST_SERVER: world.origin,
      OUTRIDER_TEST_PROXY: proxy.origin,
      OUTRIDER_TEST_KEY: world.key,
    });
    expect(Number(/(\d+) passed/.exec(said)?.[1])).toBeGreaterThan(150);
  });

  test("is what openapi.json and its asynchronous half make of it", { timeout: 60_000 }, async () => {
    await run(["scripts/generate.py", "--check"]);
  });

  test("has types that mypy and pyright accept, and no findings of ruff", { timeout: 240_000 }, async () => {
    await run(["-m", "ruff", "check"]);
    await run(["-m", "ruff", "format", "--check"]);
    await run(["-m", "mypy"]);
    await run(["-m", "pyright"]);
  });
});
