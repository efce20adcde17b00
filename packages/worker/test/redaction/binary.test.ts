import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestInstallation, type TestInstallation } from "../installation.ts";
import { makeFolder, Origin } from "../repositories/git-server.ts";

/** Binary files and binary output of runs whose environment has secrets. */

const secret = "s3cr3t-ä€-0123456789-abcdef";
const key = `-----BEGIN KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n".repeat(4)}-----END KEY-----\n`;

let installation: TestInstallation;
let temporary: ReturnType<typeof makeFolder>;
let environment_id: string;

beforeAll(async () => {
  temporary = makeFolder();
  const site = new Origin(temporary.folder, "site");
  site.push("main", { "README.md": "hello\n", "old.dat": "\0old\0" });
  installation = await startTestInstallation();
  await installation.worker({ repositoryPaths: [temporary.folder] });
  for (const [name, value] of Object.entries({ S: secret, PEM: key }))
    await installation.call("PUT", `/agent/secrets/${name}`, { body: { value } });
  const repos = [{ url: `file://${site.bare}`, ref: "main", path: "site" }];
  const body = { name: "binary", secrets: ["S", "PEM"], repos };
  environment_id = (await installation.call("POST", "/agent/environments", { body })).body.environment_id;
});
afterAll(async () => {
  await installation?.stop();
  temporary?.remove();
});

async function execute(script: string[]): Promise<string> {
  const run = await installation.create(script, { config: { environment_id } });
  await installation.until(run, "SUCCEEDED");
  return run;
}

async function download(path: string): Promise<Buffer> {
  const url = path.startsWith("http") ? path : `${installation.origin}/api/v1${path}`;
  const headers = { authorization: `Bearer ${installation.key}` };
  const response = await fetch(url, path.startsWith("http") ? {} : { headers });
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

const git = (args: string[], input: Buffer | string) =>
  execFileSync("git", args, { cwd: temporary.folder, input, encoding: "utf8" });

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/** Returns the contents of the binary patches in a patch: each is compressed and then encoded as base85. */
function binaryContents(patch: string): Buffer[] {
  return [...patch.matchAll(/^(?:literal|delta) \d+\n((?:[A-Za-z].+\n)*)/gm)].map(([, lines = ""]) => {
    const parts = lines.split("\n").filter((line) => line !== "");
    return inflateSync(Buffer.concat(parts.map(decodeBase85)));
  });
}

function decodeBase85(line: string): Buffer {
  const length = line.charCodeAt(0) - (line[0] === line[0]?.toUpperCase() ? 64 : 70);
  const groups = line.slice(1).match(/.{5}/g) ?? [];
  const bytes = groups.map((group) => {
    const value = [...group].reduce((sum, digit) => sum * 85 + alphabet.indexOf(digit), 0);
    const word = Buffer.alloc(4);
    word.writeUInt32BE(value);
    return word;
  });
  return Buffer.concat(bytes).subarray(0, length);
}

describe("a run's diff", () => {
  const change = [
    'RUN: printf "\\0%s\\0" "$S" > bin.dat; printf "\\0clean %s\\0" and-long-enough > clean.dat',
    'RUN: printf "\\0%s\\0" "$(printf %s "$S" | base64)" > "with space.dat"; git mv -k README.md other.md',
    'RUN: printf "\\0%s\\0old\\0" "$S" > old.dat; echo "$PEM" > key.pem; echo "token: $S" > token.txt',
  ];
  const omitted = "The content of this binary file is omitted, because it contains a secret.\n";

  test("omits binary files that contain a secret, and keeps the others", async () => {
    const run = await execute(change);
    const { link } = (await installation.call("POST", `/agent/runs/${run}/share`, { body: {} })).body;
    const patches = [await download(`/agent/runs/${run}/diff`), await download(`${link}/diff`)];
    expect(patches[1]).toEqual(patches[0]);
    const patch = String(patches[0]);
    expect(patch).toContain(`Binary files /dev/null and b/bin.dat differ\n${omitted}`);
    expect(patch).toContain(`Binary files /dev/null and b/with space.dat differ\n${omitted}`);
    expect(patch).toContain(`Binary files a/old.dat and b/old.dat differ\n${omitted}`);
    const contents = binaryContents(patch).map(String);
    expect(contents).toContain("\0clean and-long-enough\0");
    expect(contents.filter((content) => content.includes("s3cr3t") || content.includes("0123"))).toEqual([]);
    expect(patch).toContain("+token: ***\n");
    expect(patch).not.toContain("MIIE");
  });

  test("can be parsed by git, and applied without the omitted files", async () => {
    const patch = await download(`/agent/runs/${await execute(change)}/diff`);
    const stat = git(["apply", "--stat", "-"], patch);
    for (const name of ["bin.dat", "clean.dat", "key.pem", "old.dat", "token.txt", "with space.dat"])
      expect(stat).toContain(name);
    git(["clone", "-q", join(temporary.folder, "site.git"), "clone"], "");
    const excluded = ["bin.dat", "old.dat", "with space.dat"].map((name) => `--exclude=${name}`);
    git(["-C", "clone", "apply", ...excluded, "-"], patch);
    const status = git(["-C", "clone", "status", "--porcelain", "-uall"], "").split("\n");
    expect(status.filter((line) => line !== "").sort()).toEqual(
      [" D README.md", "?? clean.dat", "?? key.pem", "?? other.md", "?? token.txt"].sort(),
    );
  });

  test("omits a renamed binary file that contains a secret, in each of several repositories", async () => {
    const repos = ["plain", "näive"].map((path, index) => {
      const origin = new Origin(temporary.folder, `several-${index}`);
      origin.push("main", { "before.dat": `\0${secret}\0`, "README.md": "hello\n" });
      return { url: `file://${origin.bare}`, ref: "main", path };
    });
    const body = { name: "several", secrets: ["S"], repos };
    const created = await installation.call("POST", "/agent/environments", { body });
    const move = "for r in plain näive; do (cd $r; mv before.dat after.dat; mv README.md other.md); done";
    const run = await installation.create([`RUN: ${move}`], {
      config: { environment_id: created.body.environment_id },
    });
    await installation.until(run, "SUCCEEDED");
    const patch = String(await download(`/agent/runs/${run}/diff`));
    expect(patch).toContain("rename from plain/before.dat\nrename to plain/after.dat\n");
    expect(patch).toContain(`Binary files a/näive/before.dat and /dev/null differ\n${omitted}`);
    expect(patch).toContain(`Binary files /dev/null and b/näive/after.dat differ\n${omitted}`);
    expect(patch).not.toContain("GIT binary patch");
  });

  test("shows a workspace without a repository alike", async () => {
    const body = { name: "no repository", secrets: ["S"] };
    const created = await installation.call("POST", "/agent/environments", { body });
    const run = await installation.create(['RUN: printf "\\0%s\\0" "$S" > bin.dat; echo text > file'], {
      config: { environment_id: created.body.environment_id },
    });
    await installation.until(run, "SUCCEEDED");
    const patch = String(await download(`/agent/runs/${run}/diff`));
    expect(patch).toContain(`Binary files /dev/null and b/bin.dat differ\n${omitted}`);
    expect(patch).toContain("+text\n");
    expect(patch).not.toContain("GIT binary patch");
  });
});

describe("a command's output", () => {
  async function outputOf(script: string[]) {
    const run = await execute(script);
    const { artifacts } = await installation.get(run);
    const content = (artifact: { artifact_id: string }) =>
      download(`/agent/artifacts/${artifact.artifact_id}/content`);
    return { artifacts, content, events: await installation.events(run) };
  }

  test("is stored byte by byte, in an artifact with the command's id", async () => {
    const { artifacts, content, events } = await outputOf([
      "RUN: head -c 3000000 /dev/urandom | tee ../random",
      "RUN: sha256sum < ../random",
    ]);
    expect(artifacts).toMatchObject([
      { name: "call-1-output.bin", size_bytes: 3_000_000, mime_type: "application/octet-stream" },
    ]);
    const hash = createHash("sha256")
      .update(await content(artifacts[0]))
      .digest("hex");
    const texts = events.filter(({ type }) => type === "command.output").map(({ data }) => data.text);
    expect(texts.join("")).toContain(hash);
  });

  test("has its secrets masked among bytes that are not text", async () => {
    const noise = "perl -e 'print \"\\xff\\xfe\\0\" x 30_000'";
    const { artifacts, content } = await outputOf([
      `RUN: ${noise}; printf "<%s>" "$S"; ${noise}; printf "<%s>" "$PEM"`,
    ]);
    const bytes = await content(artifacts[0]);
    const part = Buffer.from("\xff\xfe\0".repeat(30_000), "latin1");
    expect(bytes).toEqual(Buffer.concat([part, Buffer.from("<***>"), part, Buffer.from("<***>")]));
  });

  test("of several commands is stored under different names", async () => {
    const { artifacts } = await outputOf([
      "RUN: seq 1 40000",
      "RUN: perl -e 'print \"\\xff\" x 40_000'",
      "RUN: yes ä€ | head -c 300001",
    ]);
    const described = artifacts.map(({ name, size_bytes }: { name: string; size_bytes: number }) => [
      name,
      size_bytes,
    ]);
    expect(described).toEqual([
      ["call-1-output.log", 228_894],
      ["call-2-output.bin", 40_000],
      ["call-3-output.bin", 300_001],
    ]);
  });
});

test("a run with more secrets than can be redacted fails before it starts", async () => {
  const wordsOf = (n: number) => Array.from({ length: 1_600 }, (_, index) => `word-${n}-${index}-abcdef`);
  const env = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`V${n}`, wordsOf(n).join(" ")]));
  const mcp_servers = { tools: { command: "true", env } };
  const run = await installation.create(["RUN: echo started"], { config: { environment_id, mcp_servers } });
  const { status_message } = await installation.until(run, "FAILED");
  expect(status_message).toMatchObject({ error_code: "environment_setup_failed" });
  expect(status_message.message).toMatch(/have \d+ bytes, but at most 1048576 bytes can be redacted/);
  expect((await installation.events(run)).some(({ type }) => type === "command.started")).toBe(false);
});
