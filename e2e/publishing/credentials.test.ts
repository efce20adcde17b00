import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type GitHubStub, startGitHubStub } from "../../packages/server/test/forges/github-stub.ts";
import { outputOf } from "../../packages/worker/test/installation.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { searchCommand } from "../harnesses/search.ts";
import { branchesOf, CHECKOUT, gitIn, PublishingInstallation } from "./installation.ts";
import { killPoints } from "./kill-points.ts";

/**
 * Publishes with a GitHub App and a signing key, and looks for the app's key, its tokens and the signing key everywhere
 * except in the memory of the server and the worker.
 */

const REPOSITORY = "acme/api";
let stub: GitHubStub;
let installation: PublishingInstallation;

beforeAll(async () => {
  stub = await startGitHubStub();
  await stub.addRepository(REPOSITORY);
  installation = await PublishingInstallation.start({ forgeUrl: stub.url });
});
afterAll(async () => {
  await installation?.stop();
  await stub?.close();
});

/** Creates a secret with an SSH key and returns the key. */
async function createSigningKey(): Promise<string> {
  const file = join(installation.folder, "signing");
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file]);
  const value = readFileSync(file, "utf8");
  execFileSync("rm", [file]);
  await installation.request("PUT", "/agent/secrets/SIGNING_KEY", { value });
  return value;
}

/** A line from the middle of a key in PEM format, which no other key has. */
const middleOf = (key: string) => key.split("\n")[2] as string;

/** Returns the command lines of all processes, and the environments of those that belong to other users. */
function readProcesses(): string {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids
    .map((pid) => {
      try {
        const isOwn = statSync(`/proc/${pid}`).uid === process.getuid?.();
        const environment = isOwn ? "" : readFileSync(`/proc/${pid}/environ`, "latin1");
        return `${readFileSync(`/proc/${pid}/cmdline`, "latin1")}\n${environment}`;
      } catch {
        return ""; // It has exited.
      }
    })
    .join("\n");
}

/** Returns the files of a folder that contain one of the texts. */
function findInFiles(folder: string, texts: string[]): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => {
      try {
        const content = readFileSync(file);
        return texts.some((text) => content.includes(text));
      } catch {
        return false; // It was removed.
      }
    });
}

/** Returns the tables that contain one of the texts. */
async function findInDatabase(texts: string[]): Promise<string[]> {
  const { db } = installation;
  const tables = await db<{ name: string }[]>`
    select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`;
  const found: string[] = [];
  for (const { name } of tables)
    for (const text of texts) {
      const hex = Buffer.from(text).toString("hex");
      const [row] = await db`
        select 1 from ${db(name)} t where strpos(t::text, ${text}) > 0 or strpos(t::text, ${hex}) > 0 limit 1`;
      if (row) found.push(name);
    }
  return found;
}

/** Searches the sandbox while it contains a process whose memory is large enough for the search to count. */
function search(texts: string[]): string {
  const large = `rm -f /tmp/ready; perl -e '$x = "y" x 30000000; open F, ">/tmp/ready"; close F; sleep 600' &`;
  const wait = "until [ -e /tmp/ready ]; do sleep 0.1; done";
  return `${large} ${wait}; ${searchCommand(texts)}; kill $!`;
}

test("no credential is in the sandbox, the log, the files or the process list", async () => {
  await installation.connectApp(stub.newManifestCode());
  const signingKey = await createSigningKey();
  const environment = await installation.createEnvironment(REPOSITORY, { signing_secret: "SIGNING_KEY" });
  const keys = [middleOf(stub.app.privateKey), middleOf(signingKey)];
  const held = installation.forge.hold(killPoints["during the push"]);
  const run = await installation.createRun({
    environment,
    title: "Keep secrets",
    publish: "draft_pull_request",
    idleMinutes: 5,
    script: [
      `RUN: cd /workspace/${CHECKOUT} && echo one > a.txt && git add . && git commit -qm 'Write one'`,
      // The push waits for the worker, which has the credential.
      `RUN: cd /workspace/${CHECKOUT} && git push -q origin HEAD 2>&1; env; git config --list`,
      `RUN: ${search(keys)}`,
      "SAY: Pushed.",
    ],
  });
  await held.arrived;
  const tokens = () => [...installation.forge.credentials].filter((text) => text.startsWith("ghs_"));
  const processes = readProcesses();
  held.release();
  expect(tokens().length).toBeGreaterThan(0);
  for (const text of [...keys, ...tokens()]) expect(processes).not.toContain(text);

  await installation.until(run, "SUCCEEDED");
  const { branch } = await installation.untilPublished(run);
  const { folder } = stub.repositories.get(REPOSITORY) as { folder: string };
  expect(gitIn(folder, "cat-file", "commit", branch)).toContain("gpgsig -----BEGIN SSH SIGNATURE-----");
  // Tokens are minted for each use, so those of the first turn are searched for in the second.
  const all = [...keys, ...tokens()];
  await installation.followUp(run, [
    `RUN: cd /workspace/${CHECKOUT} && echo two > a.txt && git commit -qam 'Write two'`,
    `RUN: ${search(all)}`,
    "SAY: Searched.",
  ]);
  await vi.waitUntil(async () => (await installation.publications(run)).length === 2, waitOptions);
  await installation.until(run, "SUCCEEDED");
  await installation.untilPublished(run);
  expect(stub.repositories.get(REPOSITORY)?.pulls).toHaveLength(1);
  expect(Object.keys(branchesOf(folder)).sort()).toEqual(["main", branch]);

  const events = await installation.events(run);
  const output = outputOf(events);
  expect(output.match(/looked at .*/g)).toEqual(Array(2).fill("looked at memory and files"));
  expect(output).not.toContain("found ");

  const responses = await Promise.all(
    ["", "/events?limit=1000", "/diff", "/publications", "/commits"].map((path) =>
      installation.call("GET", `/agent/runs/${run}${path}`),
    ),
  );
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
  const forges = await installation.call("GET", "/agent/forges");
  const known = [...keys, ...tokens()];
  const texts = [...responses, forges].map(({ text }) => text).join("\n") + installation.output();
  for (const text of known) expect(texts).not.toContain(text);
  expect(findInFiles(installation.folder, known)).toEqual([]);
  expect(await findInDatabase(known)).toEqual([]);
  expect(stub.violations).toEqual([]);
});
