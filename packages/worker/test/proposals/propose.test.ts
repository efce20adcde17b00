import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ProposalReason, ProposedSettings } from "@outrider/contract/proposal";
import { describe, expect, it, onTestFinished } from "vitest";
import { propose } from "../../src/proposals/propose.ts";
import { readFolder } from "../../src/proposals/read-folder.ts";
import { needsText, selectFiles } from "../../src/proposals/repository-files.ts";
import { selectVersion } from "../../src/proposals/versions.ts";

type Files = Record<string, string>;

function proposeFor(files: Files) {
  const paths = selectFiles(Object.keys(files));
  const texts = new Map(paths.filter(needsText).map((path) => [path, files[path] ?? ""]));
  const proposal = propose({ paths, texts });
  // Whatever a repository contains, the API must be able to return the proposal.
  ProposedSettings.parse(proposal.settings);
  for (const reason of proposal.reasons) ProposalReason.parse(reason);
  return proposal;
}

const settingsFor = (files: Files) => proposeFor(files).settings;
const reasonsFor = (files: Files) => proposeFor(files).reasons.map(({ message }) => message);
const manifest = (value: object) => JSON.stringify(value);

describe("the lock file decides the commands", () => {
  const cases: [title: string, files: Files, image: string, commands: string[], preset?: string][] = [
    ["npm", { "package-lock.json": "" }, "node:24-bookworm", ["npm ci"], "npm"],
    ["an npm shrinkwrap", { "npm-shrinkwrap.json": "" }, "node:24-bookworm", ["npm ci"], "npm"],
    [
      "pnpm",
      { "pnpm-lock.yaml": "lockfileVersion: '6.0'\n" },
      "node:24-bookworm",
      ["npm install --global 'pnpm@8'", "pnpm install --frozen-lockfile"],
      "npm",
    ],
    [
      "pnpm with a version",
      { "pnpm-lock.yaml": "", "package.json": manifest({ packageManager: "pnpm@9.12.1+sha512.abc" }) },
      "node:24-bookworm",
      ["npm install --global 'pnpm@9.12.1'", "pnpm install --frozen-lockfile"],
      "npm",
    ],
    [
      "Yarn 1",
      { "yarn.lock": "# yarn lockfile v1\n" },
      "node:24-bookworm",
      ["yarn install --frozen-lockfile"],
      "npm",
    ],
    [
      "Yarn 4 in the repository",
      {
        "yarn.lock": "__metadata:\n  version: 8\n",
        ".yarnrc.yml": "yarnPath: .yarn/releases/yarn-4.1.0.cjs",
      },
      "node:24-bookworm",
      ["yarn install --immutable"],
      "npm",
    ],
    [
      "Yarn 4 elsewhere",
      { "yarn.lock": "__metadata:\n", "package.json": manifest({ packageManager: "yarn@4.1.0" }) },
      "node:24-bookworm",
      ["npm install --global --force '@yarnpkg/cli-dist@4.1.0'", "yarn install --immutable"],
      "npm",
    ],
    ["Bun", { "bun.lock": "" }, "oven/bun:1-debian", ["bun install --frozen-lockfile"], "npm"],
    ["pip", { "requirements.txt": "" }, "python:3.13-bookworm", ["pip install -r requirements.txt"], "pypi"],
    [
      "Poetry",
      { "poetry.lock": "", "pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.11"\n' },
      "python:3.13-bookworm",
      ["pip install poetry", "poetry install --no-interaction"],
      "pypi",
    ],
    ["uv", { "uv.lock": "" }, "python:3.13-bookworm", ["pip install uv", "uv sync --frozen"], "pypi"],
    [
      "Pipenv",
      { "Pipfile.lock": "", Pipfile: '[requires]\npython_version = "3.10"\n' },
      "python:3.10-bookworm",
      ["pip install pipenv", "pipenv sync --dev"],
      "pypi",
    ],
    [
      "a Python package",
      { "pyproject.toml": "[project]\nname = 'a'\nrequires-python = '>=3.10,<3.12'\n" },
      "python:3.11-bookworm",
      ["pip install -e ."],
      "pypi",
    ],
    ["Go", { "go.mod": "module a\n\ngo 1.23.1\n" }, "golang:1.23-bookworm", ["go mod download"], "go"],
    ["old Go", { "go.mod": "go 1.16\n" }, "golang:1-bookworm", ["go mod download"], "go"],
    ["Rust", { "Cargo.lock": "" }, "rust:1-bookworm", ["cargo fetch --locked"], "crates"],
    [
      "Rust with a version",
      { "Cargo.lock": "", "rust-toolchain.toml": '[toolchain]\nchannel = "1.78.0"\n' },
      "rust:1.78.0-bookworm",
      ["cargo fetch --locked"],
      "crates",
    ],
    [
      "Maven",
      { "pom.xml": "<maven.compiler.release>17</maven.compiler.release>", "core/pom.xml": "" },
      "maven:3-eclipse-temurin-17",
      ["mvn --batch-mode dependency:go-offline"],
      "maven",
    ],
    [
      "Gradle",
      {
        "settings.gradle.kts": "",
        "gradle/wrapper/gradle-wrapper.properties":
          "distributionUrl=https\\://example.com/gradle-8.10.2-bin.zip",
      },
      "gradle:8.10.2-jdk21",
      ["gradle --no-daemon dependencies"],
      "maven",
    ],
    [
      "Bundler",
      { "Gemfile.lock": "RUBY VERSION\n   ruby 3.3.6p108\n" },
      "ruby:3.3-bookworm",
      ["bundle install"],
    ],
    ["Composer", { "composer.lock": "" }, "composer:2", ["composer install --no-interaction"]],
    [
      "Mix",
      { "mix.lock": "", ".tool-versions": "elixir 1.16.2-otp-26\n" },
      "elixir:1.16",
      ["mix local.hex --force && mix local.rebar --force", "mix deps.get"],
    ],
  ];
  it.each(cases)("of %s", (_, files, docker_image, setup_commands, preset) => {
    const network = preset && { mode: "allowlist", allow: [`preset:${preset}`] };
    expect(settingsFor(files)).toEqual({ docker_image, setup_commands, ...(network ? { network } : {}) });
  });

  it("and every proposed field has a reason", () => {
    const { settings, reasons } = proposeFor({ "package-lock.json": "" });
    expect(Object.keys(settings).sort()).toEqual(reasons.map(({ field }) => field).sort());
  });

  it("not if there is none", () => {
    expect(proposeFor({ "README.md": "", "src/main.c": "" })).toEqual({
      settings: { setup_commands: [] },
      reasons: [],
    });
  });
});

describe("the version comes from", () => {
  const lock = { "package-lock.json": "" };
  it.each<[string, Files, string]>([
    [".nvmrc", { ".nvmrc": "v20.11.1\n" }, "20"],
    ["the name of a release", { ".nvmrc": "lts/jod\n" }, "22"],
    [".node-version", { ".node-version": "18" }, "18"],
    [".tool-versions", { ".tool-versions": "python 3.11.2\nnodejs 20.1.0\n" }, "20"],
    ["engines", { "package.json": manifest({ engines: { node: ">=18 <21" } }) }, "20"],
    ["engines with the default", { "package.json": manifest({ engines: { node: ">=18" } }) }, "24"],
    [
      "a file that overrides engines",
      { ".nvmrc": "22", "package.json": manifest({ engines: { node: "20" } }) },
      "22",
    ],
    ["no file if it is malformed", { ".nvmrc": "$(id)", "package.json": "{" }, "24"],
    ["no file if it is too old for the image", { ".nvmrc": "8" }, "24"],
  ])("%s", (_, files, version) => {
    expect(settingsFor({ ...lock, ...files }).docker_image).toBe(`node:${version}-bookworm`);
  });

  it.each<[string, Files, string]>([
    [".python-version", { ".python-version": "3.11.9\n" }, "3.11"],
    ["runtime.txt", { "runtime.txt": "python-3.10.4" }, "3.10"],
    ["requires-python", { "pyproject.toml": "requires-python = '~=3.12.0'" }, "3.12"],
    ["no file if it is Python 2", { ".python-version": "2.7" }, "3.13"],
  ])("%s for Python", (_, files, version) => {
    expect(settingsFor({ "requirements.txt": "", ...files }).docker_image).toBe(`python:${version}-bookworm`);
  });

  it.each([
    ["^20.1 || ^22", "22"],
    ["18 - 20", "20"],
    ["20.x", "20"],
    ["*", "24"],
    [">22", "24"],
    ["<=18", "18"],
    ["~18.2", "18"],
    ["^12", undefined],
  ])("a range: %s", (range, version) => {
    expect(selectVersion(range, ["24", "22", "20", "18", "16"])).toBe(version);
  });
});

describe("a repository with several projects", () => {
  it("installs the one in the root and names the others", () => {
    const files = { "package-lock.json": "", "docs/package-lock.json": "" };
    expect(settingsFor(files).setup_commands).toEqual(["npm ci"]);
    expect(reasonsFor(files)).toContain(
      "`docs/package-lock.json` is not installed. Add a setup command if runs need the dependencies.",
    );
  });

  it("installs those in folders if the root has none", () => {
    const files = { "apps/a b/poetry.lock": "", "apps/c/poetry.lock": "", ".python-version": "3.12" };
    const settings = settingsFor(files);
    expect(settings.docker_image).toBe("python:3.12-bookworm");
    expect(settings.setup_commands).toEqual([
      "pip install poetry",
      "(cd 'apps/a b' && poetry install --no-interaction)",
      "(cd 'apps/c' && poetry install --no-interaction)",
    ]);
  });

  it("says which toolchains the image lacks", () => {
    const files = { "backend/poetry.lock": "", "frontend/package-lock.json": "", "tools/go.mod": "go 1.23" };
    expect(settingsFor(files).docker_image).toBe("golang:1.23-bookworm");
    expect(reasonsFor(files)).toContain(
      "`frontend/package-lock.json` needs Node.js, which `golang:1.23-bookworm` does not contain: install it in a setup command, or use an image that contains both.",
    );
  });

  it("ignores dependencies, tests and folders that are too deep", () => {
    const files = {
      "node_modules/a/package-lock.json": "",
      "vendor/b/go.mod": "",
      "tests/fixtures/Cargo.lock": "",
      "a/b/c/d/package-lock.json": "",
      ".github/package-lock.json": "",
    };
    expect(settingsFor(files)).toEqual({ setup_commands: [] });
  });
});

describe("a devcontainer", () => {
  const path = ".devcontainer/devcontainer.json";
  it("comes first, with the dependencies that it does not install", () => {
    const file = '{ "image": "mcr.example.com/node:1", /* comment */ }';
    expect(settingsFor({ [path]: file, "package-lock.json": "" })).toEqual({
      devcontainer: path,
      setup_commands: ["npm ci"],
      network: { mode: "allowlist", allow: ["preset:npm"] },
    });
  });

  it("installs the dependencies if it has commands", () => {
    const file = manifest({ image: "debian:12", postCreateCommand: "npm ci" });
    expect(settingsFor({ [path]: file, "package-lock.json": "" })).toEqual({
      devcontainer: path,
      setup_commands: [],
      network: { mode: "allowlist", allow: ["preset:npm"] },
    });
  });

  it("that cannot be used is named", () => {
    const file = manifest({ image: "debian:12", features: { "ghcr.io/devcontainers/features/go:1": {} } });
    const { settings, reasons } = proposeFor({ [path]: file, "package-lock.json": "" });
    expect(settings.docker_image).toBe("node:24-bookworm");
    expect(reasons[0]?.message).toContain("The feature ghcr.io/devcontainers/features/go:1 is not supported");
  });
});

describe("a Dockerfile", () => {
  const lock = { "package-lock.json": "" };
  it("comes before an image, with the preset for its packages", () => {
    const files = { Dockerfile: "FROM node:24\nRUN apt-get update && apt-get install -y make\n", ...lock };
    expect(settingsFor(files)).toEqual({
      dockerfile: { path: "Dockerfile" },
      setup_commands: ["npm ci"],
      network: { mode: "allowlist", allow: ["preset:npm", "preset:debian"] },
    });
    expect(reasonsFor(files)[0]).toContain("Otherwise, use the image `node:24-bookworm`.");
  });

  it("for development is preferred to one for production", () => {
    const stages = "FROM node:24 AS build\nRUN make\nFROM debian:12\nCOPY --from=build /a /b\n";
    const settings = settingsFor({ Dockerfile: stages, ...lock });
    expect(settings.docker_image).toBe("node:24-bookworm");
    expect(reasonsFor({ Dockerfile: stages, ...lock })[0]).toContain("probably made for production");
    const { dockerfile } = settingsFor({ Dockerfile: stages, "Dockerfile.dev": stages });
    expect(dockerfile).toEqual({ path: "Dockerfile.dev" });
  });

  it("that cannot be used is named, and a devcontainer precedes it", () => {
    expect(reasonsFor({ Dockerfile: "RUN make\n" })[0]).toContain(
      "The Dockerfile cannot be used. Dockerfile",
    );
    const files = { Dockerfile: "FROM debian:12\n", ".devcontainer.json": '{"image": "debian:12"}' };
    expect(settingsFor(files)).toEqual({ devcontainer: ".devcontainer.json", setup_commands: [] });
  });
});

it("takes little time for hostile files", () => {
  const texts: Files = {};
  const size = 2 ** 21;
  const fillers = ["\n", " ", "[", '{"a":', "channel", "<release>", "1.", "python\n"];
  for (const [index, filler] of fillers.entries()) {
    const text = filler.repeat(size / filler.length);
    for (const name of [
      "package.json",
      "rust-toolchain.toml",
      "pom.xml",
      "pyproject.toml",
      "go.mod",
      "Gemfile.lock",
    ])
      texts[`p${index}/${name}`] = text;
    for (const name of [".tool-versions", ".nvmrc", ".python-version", "yarn.lock", "Cargo.lock"])
      texts[`p${index}/${name}`] = text;
  }
  expect(proposeFor(texts).settings.docker_image).toBeDefined();
});

it("reads the files of a folder, without following links", () => {
  const root = mkdtempSync(join(tmpdir(), "outrider-proposal-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const files: Files = { "package-lock.json": "{}", ".nvmrc": "20", "docs/requirements.txt": "" };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  symlinkSync("/etc/hostname", join(root, ".python-version"));
  symlinkSync("..", join(root, "loop"));
  expect(readFolder(root).paths).toEqual([".nvmrc", "package-lock.json", "docs/requirements.txt"]);
  expect(propose(readFolder(root)).settings.docker_image).toBe("node:20-bookworm");
});
