import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorld, type World } from "../../packages/worker/test/world.ts";
import { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
import { python } from "./python.ts";

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

/** With the settings of the package, for what of it lies elsewhere too. */
const checked = ["--config", "pyproject.toml", ".", "../../e2e/clients/python.py"];

describe("the Python client", () => {
  test("does what its tests say, against the server behind the proxy", { timeout: 240_000 }, async () => {
    const environment = {
      OUTRIDER_TEST_SERVER: world.origin,
      OUTRIDER_TEST_PROXY: proxy.origin,
      OUTRIDER_TEST_KEY: world.key,
    };
    const said = await python({ args: ["-m", "pytest", "-q"], environment });
    expect(Number(/(\d+) passed/.exec(said)?.[1])).toBeGreaterThan(150);
  });

  test("is what openapi.json and its asynchronous half make of it", { timeout: 60_000 }, async () => {
    await python({ args: ["scripts/generate.py", "--check"] });
  });

  test("has types that mypy and pyright accept, and no findings of ruff", { timeout: 240_000 }, async () => {
    await python({ args: ["-m", "ruff", "check", "--no-cache", ...checked] });
    await python({ args: ["-m", "ruff", "format", "--no-cache", "--check", ...checked] });
    await python({ args: ["-m", "mypy"] });
    await python({ args: ["-m", "pyright"] });
  });
});
