import { expect, test } from "vitest";
import { parseDevcontainer } from "../../src/devcontainers/parse.ts";
import { containerVariables } from "../../src/devcontainers/read.ts";

const options = {
  path: ".devcontainer/devcontainer.json",
  blobId: "a".repeat(40),
  workspaceFolder: "/workspace/site",
};
const parseText = (text: string) => parseDevcontainer(text, options);
const parseFile = (file: object) => parseText(JSON.stringify({ image: "debian:12", ...file }));

function problemOf(text: string): string {
  try {
    parseText(text);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("The file was accepted.");
}

test("comments, trailing commas and properties for editors are accepted", () => {
  const parsed = parseText(`\uFEFF// A comment
    {
      "name": "Site", /* another */
      "image": "mcr.example.com/devcontainers/base:1",
      "customizations": {"vscode": {"extensions": ["a.b",],},},
      "forwardPorts": [3000], "features": {}, "mounts": [], "privileged": false,
    }`);
  expect(parsed).toEqual({
    image: "mcr.example.com/devcontainers/base:1",
    setupCommands: [],
    forRuns: {
      ...{ path: options.path, blob_id: options.blobId },
      ...{ container_env: {}, remote_env: {}, start_commands: [] },
    },
    notices: [],
  });
});

test("commands run in the order of the specification, as text, words or in parallel", () => {
  const { setupCommands, forRuns } = parseFile({
    postStartCommand: ["serve", "it's here", "${containerEnv:PORT}"],
    postCreateCommand: { one: "make one", two: ["make", "two"] },
    updateContentCommand: { only: "npm ci" },
    onCreateCommand: "echo $HOME ${USER} ${containerWorkspaceFolder} ${containerEnv:PORT:80}",
  });
  expect(setupCommands).toEqual([
    "echo $HOME ${USER} /workspace/site ${PORT:-80}",
    "npm ci",
    [
      `"\${BASH:-sh}" -c 'make one' & command0=$!`,
      `"\${BASH:-sh}" -c ''\\''make'\\'' '\\''two'\\''' & command1=$!`,
      "failed=0",
      "wait $command0 || failed=1",
      "wait $command1 || failed=1",
      "[ $failed = 0 ]",
    ].join("\n"),
  ]);
  expect(forRuns.start_commands).toEqual([`'serve' 'it'\\''s here' ''"\${PORT:-}"''`]);
  const empty = parseFile({ onCreateCommand: "", updateContentCommand: [], postCreateCommand: {} });
  expect(empty.setupCommands).toEqual([]);
});

test("variables are resolved with the image's, and the remote ones with the container's", () => {
  const { forRuns, notices } = parseFile({
    containerEnv: { ROOT: "${localWorkspaceFolder}", MODE: "${containerEnv:IMAGE_MODE:none}" },
    remoteEnv: {
      PATH: "${containerEnv:PATH}:${containerEnv:ROOT}/bin",
      NAME: "${localWorkspaceFolderBasename}",
      LEVEL: "${localEnv:LEVEL:debug}",
      TOKEN: "x${localEnv:TOKEN}",
      UNSET: null,
    },
  });
  expect(containerVariables(forRuns, { PATH: "/usr/bin" })).toEqual({
    ROOT: "/workspace/site",
    MODE: "none",
    PATH: "/usr/bin:/workspace/site/bin",
    NAME: "site",
    LEVEL: "debug",
  });
  expect(notices).toEqual([
    ".devcontainer/devcontainer.json: `remoteEnv.TOKEN` is ignored, because it needs the variable TOKEN of the host. Set it in the environment's variables.",
  ]);
});

test("remoteUser takes precedence over containerUser", () => {
  expect(parseFile({ containerUser: "app" }).forRuns.user).toBe("app");
  expect(parseFile({ containerUser: "app", remoteUser: "dev" }).forRuns.user).toBe("dev");
});

test("properties that have no effect are noticed", () => {
  const { notices } = parseFile({
    workspaceFolder: "/src",
    initializeCommand: "make",
    capAdd: ["SYS_PTRACE"],
    postCreateCommand: "login ${localEnv:USER}",
  });
  expect(notices.map((notice) => notice.slice(options.path.length + 2))).toEqual([
    "`initializeCommand` is ignored, because it would run on the host.",
    "`capAdd` is ignored, because sandboxes have a fixed set of capabilities.",
    "`workspaceFolder` is ignored, because the repository is in /workspace/site.",
    "`postCreateCommand` uses the variable USER of the host, which is empty here.",
  ]);
  expect(parseFile({ workspaceFolder: "/workspace/site" }).notices).toEqual([]);
});

test.for<[name: string, file: object, problem: string]>([
  [
    "a feature",
    { features: { "ghcr.io/devcontainers/features/go:1": {} } },
    "The feature ghcr.io/devcontainers/features/go:1 is not supported: install it in `postCreateCommand`",
  ],
  ["build without a Dockerfile", { build: { context: ".." } }, "`build.dockerfile` is missing"],
  [
    "a Dockerfile outside of the repository",
    { dockerFile: "../../a" },
    "`build.dockerfile` must be the relative path",
  ],
  [
    "options of Docker",
    { build: { dockerfile: "a", options: ["--rm"] } },
    "`build.options` is not supported",
  ],
  ["arguments of a wrong type", { build: { dockerfile: "a", args: { A: 1 } } }, "`build.args.A` "],
  ["dockerComposeFile", { dockerComposeFile: ["a.yml"] }, "`dockerComposeFile` is not supported"],
  ["mounts", { mounts: ["source=/,target=/host,type=bind"] }, "`mounts` is not supported"],
  ["runArgs", { runArgs: ["--network=host"] }, "`runArgs` is not supported"],
  ["privileged", { privileged: true }, "`privileged` is not supported"],
  ["no image", { image: undefined }, "`image` is missing"],
  ["an image that is no reference", { image: "-debian" }, "`image` must be an image such as"],
  ["an image of the host", { image: "debian:${localEnv:TAG}" }, "`image` needs the variable TAG of the host"],
  ["an image of a wrong type", { image: ["debian"] }, "`image` must be a string"],
  ["variables of a wrong type", { containerEnv: ["A=b"] }, "`containerEnv` must be an object"],
  ["a number as a variable", { remoteEnv: { A: 1 } }, "`remoteEnv.A` "],
  ["a variable that no shell takes", { containerEnv: { "A=B": "c" } }, "`containerEnv.A=B` "],
  ["a value with NUL", { containerEnv: { A: "\0" } }, "`containerEnv.A` contains characters"],
  [
    "too many variables",
    { remoteEnv: Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`A${index}`, ""])) },
    "`remoteEnv` must have at most 200 variables",
  ],
  ["a user that is none", { remoteUser: "-u 0" }, "`remoteUser` must be the name of a user"],
  ["a number as a command", { postCreateCommand: 5 }, "`postCreateCommand` must be a string, an array"],
  ["commands in commands", { postStartCommand: { a: { b: "c" } } }, "`postStartCommand` must be a string"],
  ["a command with half a character", { onCreateCommand: "\ud800" }, "`onCreateCommand` contains characters"],
  ["a long command", { onCreateCommand: "x".repeat(40_000) }, "`onCreateCommand` is longer than 32768"],
  [
    "too many commands",
    { onCreateCommand: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [index, "true"])) },
    "`onCreateCommand` must be a string, an array",
  ],
])("%s is refused", ([, file, problem]) => {
  const message = problemOf(JSON.stringify({ image: "debian:12", ...file }));
  expect(message).toContain(`.devcontainer/devcontainer.json: ${problem}`);
});

test.for<[name: string, text: string, problem: string]>([
  ["deep arrays", "[".repeat(200_000), "nested more than 32 levels deep"],
  ["deep objects", '{"a":'.repeat(40_000), "nested more than 32 levels deep"],
  ["a huge file", `{"name": "${"x".repeat(300_000)}"}`, "larger than 256 KiB"],
  ["no object", "[]", "must contain a JSON object"],
  ["an empty file", "", "is not valid JSON with comments"],
  ["broken JSON", '{\n"image": "debian:12"\n"name": 1}', "CommaExpected in line 3"],
  ["a prototype", '{"__proto__": {"image": 5}}', "`image` "],
])("%s is refused", ([, text, problem]) => {
  expect(problemOf(text)).toContain(problem);
});

test("a Dockerfile is named relative to the file, in its new and old form", () => {
  const build = { dockerfile: "Dockerfile", context: "..", target: "dev", args: { A: "${localEnv:A}b" } };
  const { image, dockerfile, notices } = parseFile({ image: undefined, build });
  const path = ".devcontainer/Dockerfile";
  expect([image, dockerfile]).toEqual([undefined, { path, context: ".", target: "dev", args: { A: "b" } }]);
  expect(notices).toEqual([expect.stringContaining("uses the variable A of the host")]);
  const old = parseFile({ image: undefined, dockerFile: "../docker/Dockerfile", context: "." });
  expect(old.dockerfile).toEqual({ path: "docker/Dockerfile", context: ".devcontainer" });
});
