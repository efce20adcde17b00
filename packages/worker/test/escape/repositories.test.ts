import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { git, makeFolder, Origin } from "../git-server.ts";
import { startWorld, type World } from "../world.ts";

vi.setConfig({ testTimeout: 90_000 });

/**
 * Git runs programs that a repository names: hooks, filters, monitors, helpers. Our own git must run none of them on the
 * host. Each payload leaves a file where everybody of the host may write; inside, that place does not exist.
 */
let world: World;
let place: ReturnType<typeof makeFolder>;
let trap: string;
let bait: Origin;

/** Leaves a trace outside, where it can, and one inside, which shows that it ran at all. */
const payload = (name: string) =>
  `{ touch ${trap}/${name}; touch /workspace/ran-${name}; } 2> /dev/null; true`;

beforeAll(async () => {
  place = makeFolder();
  trap = join(place.folder, "trap");
  mkdirSync(trap);
  chmodSync(place.folder, 0o755);
  chmodSync(trap, 0o777);
  bait = new Origin(place.folder, "bait");
  symlinkSync("/etc", join(bait.copy, "etc"));
  symlinkSync(trap, join(bait.copy, "out"));
  bait.push("main", {
    "README.md": "hello\n",
    ".gitattributes": "* filter=evil diff=evil merge=evil\n",
    ".gitmodules": `[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch ${trap}/submodule"\n`,
    ".gitconfig": `[core]\n\tfsmonitor = touch ${trap}/gitconfig\n`,
  });
  // What the repository says at its own place, which git reads there when it is asked for objects.
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
    "include.path": join(place.folder, "included"),
  };
  for (const [name, value] of Object.entries(settings)) git(bait.bare, "config", name, value);
  writeFileSync(join(place.folder, "included"), `[core]\n\tfsmonitor = touch ${trap}/included\n`);
  world = await startWorld();
  await world.worker({ repositoryPaths: [place.folder] });
});
afterAll(async () => {
  await world?.stop();
  place?.remove();
});

async function environment(body: object): Promise<string> {
  const reply = await world.call("POST", "/agent/environments", {
    body: { name: `bait ${Math.random()}`, ...body },
  });
  expect(reply.status).toBe(201);
  return reply.body.environment_id;
}

async function succeed(environment_id: string, script: string[]) {
  const run = await world.create(script, { config: { environment_id } });
  await world.until(run, "SUCCEEDED");
  const events = await world.events(run);
  return { run, output: events.map(({ data }) => data.text ?? "").join("") };
}

const repos = () => [{ url: `file://${bait.bare}`, ref: "main" }];

/** What an agent can leave in its own repository, for whoever runs git there next. */
const poison = () => {
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

test("an environment on a hostile repository is made, and nothing of it ran outside", async () => {
  const environment_id = await environment({ repos: repos(), setup_commands: [poison()] });
  const { output } = await succeed(environment_id, [
    "RUN: cat bait/README.md; readlink bait/out",
    "RUN: echo more >> bait/README.md",
  ]);
  expect(output).toContain(`hello\n${trap}`);
  expect(readdirSync(trap)).toEqual([]);
});

test("a run that poisons its repository runs its poison inside, at most", async () => {
  const environment_id = await environment({ repos: repos() });
  const { run } = await succeed(environment_id, [
    `RUN: ${poison()}; echo changed >> bait/README.md`,
    `RUN: ln -s ${trap} bait/link; echo x > bait/out/from-inside; mkdir -p hooks/deep; ls`,
  ]);
  const patch = (await world.call("GET", `/agent/runs/${run}/diff`)).text;
  expect(patch).toContain("+changed");
  // The filter ran: git was asked what changed. It did so inside.
  await world.followUp(run, ["RUN: ls /workspace"]);
  await world.until(run, "SUCCEEDED");
  const last = (await world.events(run)).filter(({ type }) => type === "command.output").at(-1);
  expect(last?.data.text).toMatch(/ran-clean/);
  expect(readdirSync(trap)).toEqual([]);
});

test("a branch that moves under a poisoned build is brought forward inside", async () => {
  const environment_id = await environment({ repos: repos(), setup_commands: [poison(), "true"] });
  await succeed(environment_id, ["SAY: built"]);
  bait.push("main", { "README.md": "moved\n" });
  expect(readdirSync(trap)).toContain("hook-post-update"); // whose hooks run where somebody pushes: the bait is live
  for (const name of readdirSync(trap)) rmSync(join(trap, name));
  const { output } = await succeed(environment_id, ["RUN: cat bait/README.md; ls /workspace"]);
  expect(output).toContain("moved\n");
  expect(output).toContain("ran-");
  expect(readdirSync(trap)).toEqual([]);
});

test("a mirror that a setup command or a run sees cannot be changed", async () => {
  const environment_id = await environment({
    repos: repos(),
    setup_commands: [
      "cd /run/outrider/mirrors/0.git && ls && ! touch x && ! git config a.b c && ! rm -rf objects",
    ],
  });
  await succeed(environment_id, ["SAY: built"]);
  const other = await environment({ repos: repos() });
  expect((await succeed(other, ["RUN: cat bait/README.md"])).output).toContain("moved\n");
});

test("paths of files and repositories stay in the workspace", async () => {
  for (const path of ["../out", "/etc/x", "a/../../x", ".git/hooks"]) {
    const reply = await world.call("POST", "/agent/environments", {
      body: { name: `path ${path}`, repos: [{ ...repos()[0], path }] },
    });
    if (reply.status !== 201) continue;
    const run = await world.create(["RUN: pwd"], { config: { environment_id: reply.body.environment_id } });
    await vi.waitUntil(async () => /SUCCEEDED|FAILED/.test((await world.get(run)).state), {
      timeout: 30_000,
    });
  }
  const run = await world.create([
    `WRITE: ../../../../../../${trap}/written | owned`,
    `WRITE: ${trap}/written | owned`,
    "WRITE: ../../etc/passwd | owned",
    `RUN: ln -s ${trap} way; echo "$(ls -A ${trap} 2>&1)"`,
    "WRITE: way/written | owned",
  ]);
  await vi.waitUntil(async () => /SUCCEEDED|FAILED/.test((await world.get(run)).state), { timeout: 30_000 });
  expect(readdirSync(trap)).toEqual([]);
  expect(existsSync("/out")).toBe(false);
});
