import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { startTestInstallation, type TestInstallation } from "../installation.ts";
import { git, makeFolder, Origin } from "../repositories/git-server.ts";

/**
 * git runs programs that a repository configures: hooks, filters, monitors, helpers. The worker's git must run none of
 * them on the host. Each payload creates a file in a folder of the host that everyone can write. That folder does not
 * exist inside a sandbox.
 */
let installation: TestInstallation;
let work: ReturnType<typeof makeFolder>;
let trap: string;
let bait: Origin;

/** Creates a file outside, if it can, and one inside, which proves that it ran. */
const payload = (name: string) =>
  `{ touch ${trap}/${name}; touch /workspace/ran-${name}; } 2> /dev/null; true`;

beforeAll(async () => {
  work = makeFolder();
  trap = join(work.folder, "trap");
  mkdirSync(trap);
  chmodSync(work.folder, 0o755);
  chmodSync(trap, 0o777);
  bait = new Origin(work.folder, "bait");
  symlinkSync("/etc", join(bait.copy, "etc"));
  symlinkSync(trap, join(bait.copy, "out"));
  bait.push("main", {
    "README.md": "hello\n",
    ".gitattributes": "* filter=evil diff=evil merge=evil\n",
    ".gitmodules": `[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch ${trap}/submodule"\n`,
    ".gitconfig": `[core]\n\tfsmonitor = touch ${trap}/gitconfig\n`,
  });
  // Hooks and settings of the remote repository, which git reads when it serves objects.
  for (const hook of readdirSync(join(bait.bare, "hooks"))) chmodSync(join(bait.bare, "hooks", hook), 0o755);
  for (const hook of [
    "post-update",
    "pre-auto-gc",
    "reference-transaction",
    "post-checkout",
    "fsmonitor-watchman",
  ]) {
    writeFileSync(join(bait.bare, "hooks", hook), `#!/bin/sh\n${payload(`hook-${hook}`)}\n`, { mode: 0o755 });
  }
  const settings = {
    "core.fsmonitor": payload("fsmonitor"),
    "core.sshCommand": payload("ssh"),
    "core.pager": payload("pager"),
    "core.askPass": payload("askpass"),
    "core.alternateRefsCommand": payload("alternates"),
    "core.gitProxy": payload("proxy"),
    "credential.helper": `!${payload("credential")}`,
    "uploadpack.packObjectsHook": payload("pack"),
    "filter.evil.smudge": payload("bare-smudge"),
    "include.path": join(work.folder, "included"),
  };
  for (const [name, value] of Object.entries(settings)) git(bait.bare, "config", name, value);
  writeFileSync(join(work.folder, "included"), `[core]\n\tfsmonitor = touch ${trap}/included\n`);
  installation = await startTestInstallation();
  await installation.worker({ repositoryPaths: [work.folder] });
});
afterAll(async () => {
  await installation?.stop();
  work?.remove();
});

async function environment(body: object): Promise<string> {
  const reply = await installation.call("POST", "/agent/environments", {
    body: { name: `bait ${Math.random()}`, ...body },
  });
  expect(reply.status).toBe(201);
  return reply.body.environment_id;
}

async function succeed(environment_id: string, script: string[]) {
  const run = await installation.create(script, { config: { environment_id } });
  await installation.until(run, "SUCCEEDED");
  const events = await installation.events(run);
  return { run, output: events.map(({ data }) => data.text ?? "").join("") };
}

const repos = () => [{ url: `file://${bait.bare}`, ref: "main" }];

/** Configures everything in a checkout that a later git could execute. */
const poisonCheckout = () => {
  const programs = {
    "core.fsmonitor": "monitor",
    "core.hooksPath": "/workspace/hooks",
    "filter.evil.clean": "clean",
    "filter.evil.smudge": "smudge",
    "diff.evil.textconv": "textconv",
    "diff.evil.command": "differ",
    "diff.external": "external",
    "core.pager": "page",
    "core.sshCommand": "shell",
    "core.alternateRefsCommand": "refs",
    "gpg.program": "sign",
  };
  const set = Object.entries(programs).map(([name, value]) => {
    const text = value.startsWith("/")
      ? value
      : `${payload(value)}${name.startsWith("filter") ? "; cat" : ""}`;
    return `git -C bait config ${name} '${text.replaceAll("'", "'\\''")}'`;
  });
  const hooks = ["post-checkout", "reference-transaction", "post-index-change", "pre-commit"].map(
    (hook) => `printf '#!/bin/sh\\n${payload(hook)}\\n' > hooks/${hook}; chmod +x hooks/${hook}`,
  );
  return `cd /workspace; mkdir -p hooks; ${[...set, ...hooks].join("; ")}`;
};

test("building an environment with a hostile repository runs nothing on the host", async () => {
  const environment_id = await environment({ repos: repos(), setup_commands: [poisonCheckout()] });
  const { output } = await succeed(environment_id, [
    "RUN: cat README.md; readlink out",
    "RUN: echo more >> README.md",
  ]);
  expect(output).toContain(`hello\n${trap}`);
  expect(readdirSync(trap)).toEqual([]);
});

test("a run that poisons its checkout affects only its sandbox", async () => {
  const environment_id = await environment({ repos: repos() });
  const { run } = await succeed(environment_id, [
    `RUN: ${poisonCheckout()}; echo changed >> bait/README.md`,
    `RUN: ln -s ${trap} link; echo x > out/from-inside; mkdir -p ../hooks/deep; ls ..`,
  ]);
  const patch = (await installation.call("GET", `/agent/runs/${run}/diff`)).text;
  expect(patch).toContain("+changed");
  // The filter ran when git computed the diff, but inside the sandbox.
  await installation.followUp(run, ["RUN: ls /workspace"]);
  await installation.until(run, "SUCCEEDED");
  const last = (await installation.events(run)).filter(({ type }) => type === "command.output").at(-1);
  expect(last?.data.text).toMatch(/ran-clean/);
  expect(readdirSync(trap)).toEqual([]);
});

test("updating a poisoned build to a newer commit happens inside the sandbox", async () => {
  const environment_id = await environment({ repos: repos(), setup_commands: [poisonCheckout(), "true"] });
  await succeed(environment_id, ["SAY: built"]);
  bait.push("main", { "README.md": "moved\n" });
  expect(readdirSync(trap)).toContain("hook-post-update"); // a push runs the hooks, so the trap works
  for (const name of readdirSync(trap)) rmSync(join(trap, name));
  const { output } = await succeed(environment_id, ["RUN: cat README.md; ls /workspace"]);
  expect(output).toContain("moved\n");
  expect(output).toContain("ran-");
  expect(readdirSync(trap)).toEqual([]);
});

test("setup commands see no mirror, and what they do to their clone changes no other clone", async () => {
  const environment_id = await environment({
    repos: repos(),
    setup_commands: [
      "[ ! -e /run/outrider/mirrors ] && ! grep mirror /proc/self/mountinfo && ! ls .git/objects/info/alternates",
      "echo changed > README.md && git commit -qam change && git update-ref refs/remotes/origin/main HEAD",
    ],
  });
  await succeed(environment_id, ["SAY: built"]);
  const other = await environment({ repos: repos() });
  expect((await succeed(other, ["RUN: cat README.md"])).output).toContain("moved\n");
});

test("file and repository paths stay inside the workspace", async () => {
  for (const path of ["../out", "/etc/x", "a/../../x", ".git/hooks"]) {
    const reply = await installation.call("POST", "/agent/environments", {
      body: { name: `path ${path}`, repos: [{ ...repos()[0], path }] },
    });
    if (reply.status !== 201) continue;
    const run = await installation.create(["RUN: pwd"], {
      config: { environment_id: reply.body.environment_id },
    });
    await vi.waitUntil(async () => /SUCCEEDED|FAILED/.test((await installation.get(run)).state), {
      timeout: waitOptions.timeout,
    });
  }
  const run = await installation.create([
    `WRITE: ../../../../../../${trap}/written | owned`,
    `WRITE: ${trap}/written | owned`,
    "WRITE: ../../etc/passwd | owned",
    `RUN: ln -s ${trap} way; echo "$(ls -A ${trap} 2>&1)"`,
    "WRITE: way/written | owned",
  ]);
  await vi.waitUntil(async () => /SUCCEEDED|FAILED/.test((await installation.get(run)).state), {
    timeout: waitOptions.timeout,
  });
  expect(readdirSync(trap)).toEqual([]);
  expect(existsSync("/out")).toBe(false);
});
