import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { NetworkPreset } from "@outrider/contract/environment";
import { afterEach, describe, expect, test } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { Presets } from "../../src/egress/presets/presets.ts";
import { withImage } from "../../src/egress/sandbox-files.ts";
import { closeAll, closeLater, serve } from "./egress-support.ts";

afterEach(closeAll);

const isInstalled = (program: string) => {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

/** A home with the given files, in which the worker's tools find their configuration. */
function makeHome(files: Record<string, string> = {}): string {
  const home = mkdtempSync(join(tmpdir(), "outrider-home-"));
  closeLater(() => rmSync(home, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), content);
  }
  return home;
}

/** Resolves a preset with the tools of this machine and only the given configuration. */
function resolve(name: NetworkPreset, environment: Record<string, string>, gitHost?: string) {
  const { PATH = "", PYENV_ROOT = "", RUSTUP_HOME = "" } = process.env;
  const variables = { PATH, ...(PYENV_ROOT ? { PYENV_ROOT } : {}), ...(RUSTUP_HOME ? { RUSTUP_HOME } : {}) };
  return new Presets({ environment: { ...variables, ...environment } }).resolve(name, gitHost);
}

/** Otherwise Go starts a process that writes to the home after the test has removed it. */
const noTelemetry = { ".config/go/telemetry/mode": "off\n" };

const hosts = ({ targets }: { targets: { host: string; port: number }[] }) =>
  targets.map(({ host, port }) => `${host}:${port}`);

/** Tests a preset with its tool, or without it if the tool is not installed. */
function describeWith(program: string, name: NetworkPreset, tests: () => void): void {
  describe(`preset:${name}`, () => {
    if (isInstalled(program)) return tests();
    test(`allows nothing, because ${program} is not installed`, async () => {
      const preset = await resolve(name, { HOME: makeHome() });
      expect(preset).toMatchObject({ targets: [], notices: [expect.stringContaining("allows nothing")] });
    });
  });
}

describe("preset:npm", () => {
  test("is the registry of npm's configuration, with those of scopes", async () => {
    const home = makeHome({
      ".npmrc":
        "registry=https://bot:hidden@npm.internal/all/\n@acme:registry=http://acme.internal:4873/\n//npm.internal/:_authToken=hidden\n",
    });
    const preset = await resolve("npm", { HOME: home });
    expect(hosts(preset)).toEqual(["npm.internal:443", "acme.internal:4873"]);
    expect(preset.environment).toMatchObject({
      NPM_CONFIG_REGISTRY: "https://npm.internal/all/",
      NPM_CONFIG_GLOBALCONFIG: "/etc/outrider/npmrc",
    });
    expect(preset.files["/etc/outrider/npmrc"]).toBe(
      "prefix=${HOME}/.local\n@acme:registry=http://acme.internal:4873/\n",
    );
    expect(preset.notices).toEqual([
      expect.stringContaining("the worker's credentials for npm.internal are not passed to the sandbox"),
    ]);
    expect(JSON.stringify(preset)).not.toContain("hidden");
  });

  test("is npm's own default without configuration, which the sandbox's npm has too", async () => {
    const preset = await resolve("npm", { HOME: makeHome() });
    expect(hosts(preset)).toEqual([expect.stringMatching(/^[a-z.]+:443$/)]);
    expect(preset).toMatchObject({ environment: {}, files: {}, notices: [] });
  });

  test("follows a variable", async () => {
    const preset = await resolve("npm", {
      HOME: makeHome(),
      NPM_CONFIG_REGISTRY: "http://10.0.0.7:8081/npm/",
    });
    expect(hosts(preset)).toEqual(["10.0.0.7:8081"]);
    expect(preset.environment.NPM_CONFIG_REGISTRY).toBe("http://10.0.0.7:8081/npm/");
  });
});

describeWith("pip3", "pypi", () => {
  test("is pip's index with its extra indexes", async () => {
    const home = makeHome({
      ".config/pip/pip.conf":
        "[global]\nindex-url = https://u:hidden@pypi.internal/simple\ntrusted-host = pypi.internal\nextra-index-url =\n  http://more.internal:8080/simple\n  https://third.internal/simple\n",
    });
    const preset = await resolve("pypi", { HOME: home });
    expect(hosts(preset)).toEqual(["pypi.internal:443", "more.internal:8080", "third.internal:443"]);
    expect(preset.environment).toMatchObject({
      PIP_INDEX_URL: "https://pypi.internal/simple",
      PIP_EXTRA_INDEX_URL: "http://more.internal:8080/simple https://third.internal/simple",
      PIP_TRUSTED_HOST: "pypi.internal",
    });
    expect(JSON.stringify(preset)).not.toContain("hidden");
  });

  test("is pip's default index and the host of its files without configuration", async () => {
    const preset = await resolve("pypi", { HOME: makeHome(), PIP_CONFIG_FILE: "/dev/null" });
    expect(hosts(preset)).toHaveLength(2);
    expect(preset).toMatchObject({ environment: {}, notices: [] });
  });
});

describeWith("go", "go", () => {
  test("is Go's proxies and its checksum database", async () => {
    const preset = await resolve("go", {
      HOME: makeHome(noTelemetry),
      GOPROXY: "https://u:hidden@go.internal|http://second.internal:3000,direct",
      GOSUMDB: "sum.internal+abc https://sums.internal/db",
      GOPRIVATE: "*.corp.internal",
    });
    expect(hosts(preset)).toEqual(["go.internal:443", "second.internal:3000", "sums.internal:443"]);
    expect(preset.environment).toMatchObject({
      GOPROXY: "https://go.internal|http://second.internal:3000,direct",
      GOPRIVATE: "*.corp.internal",
    });
    expect(JSON.stringify(preset)).not.toContain("hidden");
    const standard = await resolve("go", { HOME: makeHome(noTelemetry) });
    expect(hosts(standard)).toHaveLength(2);
  });
});

describe("preset:crates", () => {
  test("is the registry that replaces the default one, and the host of its packages", async () => {
    const port = await serve(
      createServer((request, response) =>
        response.end(
          request.url === "/index/config.json"
            ? JSON.stringify({ dl: "https://files.internal/{crate}/{version}", api: "https://x.internal" })
            : "{}",
        ),
      ),
    );
    const home = makeHome({
      ".cargo/config.toml": `# mirror
[source.crates-io]
replace-with = "mirror" # all crates
[source.mirror]
registry = "sparse+http://127.0.0.1:${port}/index/"
[registries."acme"]
index = 'sparse+http://u:hidden@127.0.0.1:${port}/acme/'
token = "hidden"
[build]
jobs = 4
`,
    });
    const preset = await resolve("crates", { HOME: home });
    expect(hosts(preset)).toEqual([`127.0.0.1:${port}`, "files.internal:443"]);
    expect(preset.files["/.cargo/config.toml"]).toBe(`[source.crates-io]
replace-with = "mirror"
["source"."mirror"]
registry = "sparse+http://127.0.0.1:${port}/index/"
["registries"."acme"]
index = "sparse+http://127.0.0.1:${port}/acme/"
`);
    expect(JSON.stringify(preset)).not.toContain("hidden");
  });
});

describe("preset:maven", () => {
  test("is Maven's mirrors and repositories, and the sandbox's Maven uses its proxy", async () => {
    const home = makeHome({
      ".m2/settings.xml": `<settings>
  <servers><server><id>m</id><username>u</username><password>hidden</password></server></servers>
  <mirrors>
    <!-- <mirror><mirrorOf>*</mirrorOf><url>https://old.internal/</url></mirror> -->
    <mirror><id>m</id><mirrorOf>external:*</mirrorOf><url>https://maven.internal/all?a=1&amp;b=2</url></mirror>
    <mirror><id>b</id><mirrorOf>x</mirrorOf><url>http://0.0.0.0/</url><blocked>true</blocked></mirror>
  </mirrors>
  <profiles><profile><id>p</id><repositories><repository><id>r</id><url>http://more.internal:8081/m2</url></repository></repositories></profile></profiles>
</settings>`,
    });
    const preset = await resolve("maven", { HOME: home });
    expect(hosts(preset)).toEqual(["maven.internal:443", "more.internal:8081"]);
    const settings = preset.homeFiles[".m2/settings.xml"] ?? "";
    expect(settings).toContain(
      "<mirrorOf>external:*</mirrorOf><url>https://maven.internal/all?a=1&amp;b=2</url>",
    );
    expect(settings).toContain("<host>127.0.0.1</host><port>3128</port>");
    expect(settings).not.toContain("hidden");
  });

  test("is Maven's central repository without configuration, and nothing without Maven", async () => {
    const preset = await resolve("maven", { HOME: makeHome() });
    if (isInstalled("mvn")) expect(hosts(preset)).toEqual([expect.stringMatching(/maven.*:443$/)]);
    else
      expect(preset).toMatchObject({
        targets: [],
        notices: [expect.stringContaining("Maven is not installed")],
      });
  });
});

describeWith("apt-get", "debian", () => {
  test("is the repositories of apt's sources, in both formats", async () => {
    const home = makeHome({
      "sources.list": "deb http://u:hidden@mirror.internal:3142/debian bookworm main contrib\n",
      "parts/more.sources":
        "Types: deb\nURIs: https://second.internal/debian-security\nSuites: bookworm-security\nComponents: main\n",
    });
    const config = join(home, "apt.conf");
    writeFileSync(
      config,
      `Dir::Etc::SourceList "${home}/sources.list";\nDir::Etc::SourceParts "${home}/parts";\nAcquire::http::Proxy "http://cache.internal:3142";\n`,
    );
    const preset = await resolve("debian", { HOME: home, APT_CONFIG: config });
    expect(hosts(preset).sort()).toEqual(["mirror.internal:3142", "second.internal:443"]);
    expect(preset.notices.join("\n")).toContain("Set OUTRIDER_UPSTREAM_PROXY instead");
    if (preset.distribution?.codename === "bookworm")
      expect(preset.distribution.files["/etc/outrider/sources.list"]).toContain(
        "deb http://mirror.internal:3142/debian bookworm main contrib\n",
      );
    const inside = { ...preset, forwards: [], imageFiles: {} };
    expect(withImage(inside, "ID=fedora\n")).toBe(inside);
    if (preset.distribution) {
      const { codename } = preset.distribution;
      const image = withImage(inside, `ID=debian\nVERSION_CODENAME=${codename}\n`);
      expect(image.environment).toEqual({ APT_CONFIG: "/etc/outrider/apt.conf" });
      expect(Object.keys(image.files)).toEqual(["/etc/outrider/apt.conf", "/etc/outrider/sources.list"]);
    }
    expect(JSON.stringify(preset)).not.toContain("hidden");
  });
});

test("preset:git is the server's git host, over https and ssh", async () => {
  expect(hosts(await resolve("git", {}, "https://git.internal:8443"))).toEqual([
    "git.internal:8443",
    "git.internal:22",
  ]);
  expect(await resolve("git", {}, "file:///srv/git")).toMatchObject({
    targets: [],
    notices: [expect.stringContaining("OUTRIDER_GIT_HOST of the server is not an https URL")],
  });
});

test("a preset without its tool allows nothing and says so", async () => {
  const environment = { PATH: "/nonexistent", HOME: makeHome() };
  for (const name of ["npm", "pypi", "go", "crates", "maven", "debian"] as const) {
    const preset = await resolve(name, environment);
    expect(preset.targets).toEqual([]);
    expect(preset.notices).toEqual([expect.stringMatching(/is not installed on the worker/)]);
  }
});

test("presets replace their entries and may lead to private addresses", async () => {
  const presets = new Presets({ environment: { PATH: "/nonexistent" } });
  const resolved = await presets.resolveAllowlist(["preset:git", "a.example"], {
    gitHost: "https://git.internal",
    exceptions: parseExceptions("10.0.0.0/8"),
  });
  expect(resolved.allow).toEqual(["a.example", "git.internal:443", "git.internal:22"]);
  expect(resolved.presets).toEqual([
    { preset: "preset:git", hosts: ["git.internal:443", "git.internal:22"] },
  ]);
  const covers = (host: string, port: number, address = "192.168.0.1") =>
    resolved.exceptions.covers({ host, port, address });
  expect(covers("git.internal", 443)).toBe(true);
  expect(covers("git.internal", 8080)).toBe(false);
  expect(covers("a.example", 443)).toBe(false);
  expect(covers("a.example", 443, "10.0.0.1")).toBe(true);
});
