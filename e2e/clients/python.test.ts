import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestInstallation, type TestInstallation } from "../../packages/worker/test/installation.ts";
import { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
import { interpreter, python } from "./python.ts";

let installation: TestInstallation;
let proxy: FaultProxy;

beforeAll(async () => {
  installation = await startTestInstallation();
  await installation.worker();
  proxy = await startFaultProxy(installation.origin);
});

afterAll(async () => {
  await proxy?.close();
  await installation?.stop();
});

/** Code of a user who installed the wheel. */
const consumer = `
import pathlib, sys
import outrider
from outrider import Outrider
from outrider.types import RunItem

where = pathlib.Path(outrider.__file__).parent
assert where.is_relative_to(sys.prefix), where
assert (where / "py.typed").exists()
with Outrider() as client:
    run: RunItem = client.runs.create_and_wait(prompt="SAY: hello", wait_timeout=60)
    last = list(client.runs.stream(run.run_id))[-1]
    print(run.state, last.type)
`;

describe("the Python client", () => {
  test("passes its tests against the server behind the fault proxy", async () => {
    const environment = {
      OUTRIDER_TEST_SERVER: installation.origin,
      OUTRIDER_TEST_PROXY: proxy.origin,
      OUTRIDER_TEST_KEY: installation.key,
    };
    const output = await python({ args: ["-m", "pytest", "-q"], environment });
    expect(Number(/(\d+) passed/.exec(output)?.[1])).toBeGreaterThan(150);
  });

  test("passes mypy and pyright", async () => {
    await python({ args: ["-m", "mypy"] });
    await python({ args: ["-m", "pyright", "--pythonpath", interpreter] });
  });

  test("works as a typed wheel in a fresh environment", async () => {
    const made = mkdtempSync(join(tmpdir(), "outrider-wheel-"));
    try {
      await python({ args: ["-m", "build", "--wheel", "--no-isolation", "--outdir", made] });
      const [wheel = ""] = readdirSync(made);
      expect(wheel).toMatch(/^outrider-[\d.]+-py3-none-any\.whl$/);
      const files = (await python({ args: ["-m", "zipfile", "-l", join(made, wheel)] })).split("\n");
      expect(files.some((line) => line.startsWith("outrider/_sync/resources/runs.py"))).toBe(true);
      expect(files.slice(1).filter((line) => line && !/^outrider(-[\d.]+\.dist-info)?\//.test(line))).toEqual(
        [],
      );

      const house = join(made, "house");
      const by = join(house, "bin/python");
      await python({ args: ["-m", "venv", house] });
      // Use the dependencies of the test environment, which does not contain the package itself.
      const purelib = "import sysconfig; print(sysconfig.get_path('purelib'))";
      const [own = "", tests = ""] = await Promise.all([
        python({ args: ["-c", purelib], by }),
        python({ args: ["-c", purelib] }),
      ]);
      writeFileSync(join(own.trim(), "tests.pth"), tests);
      const pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-index",
        "--no-deps",
      ];
      const environment = {
        PYTHONPATH: "",
        OUTRIDER_API_KEY: installation.key,
        OUTRIDER_BASE_URL: `${installation.origin}/api/v1`,
      };
      await python({ args: [...pip, join(made, wheel)], by, environment });
      const script = join(made, "consumer.py");
      writeFileSync(script, consumer);
      expect(await python({ args: [script], by, environment })).toBe("SUCCEEDED run.succeeded\n");
      const requires = "import importlib.metadata as m; print(*sorted(m.requires('outrider')), sep='\\n')";
      expect(await python({ args: ["-c", requires], by, environment })).toMatch(/^httpx\S+\npydantic\S+\n$/);
      const strict = ["--strict", "--config-file=", "--cache-dir=/dev/null", `--python-executable=${by}`];
      await python({ args: ["-m", "mypy", ...strict, script], environment });
    } finally {
      rmSync(made, { recursive: true, force: true });
    }
  });
});
