import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  outputOf,
  startTestInstallation,
  type TestInstallation,
} from "../../packages/worker/test/installation.ts";
import {
  git,
  makeFolder,
  Origin,
  type SshServer,
  serveSsh,
} from "../../packages/worker/test/repositories/git-server.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";

/** Runs that publish their changes to a real git server: with git push, with the tool, and at the end of a turn. */

let installation: TestInstallation;
let temporary: ReturnType<typeof makeFolder>;
let ssh: SshServer;

beforeAll(async () => {
  temporary = makeFolder();
  ssh = await serveSsh(temporary.folder);
  installation = await startTestInstallation();
  await installation.worker({ allowedAddresses: `127.0.0.1:${ssh.port}` });
  await installation.call("PUT", "/agent/secrets/DEPLOY_KEY", { body: { value: ssh.key } });
});
afterAll(async () => {
  await installation.stop();
  await ssh.stop();
  temporary.remove();
});

/** Creates a repository and an environment with it. */
async function createSite(publish: object = {}) {
  const origin = new Origin(temporary.folder, `site-${randomUUID().slice(0, 8)}`);
  const base = origin.push("main", { "README.md": "hello\n" });
  const url = `ssh://${ssh.user}@127.0.0.1:${ssh.port}${origin.bare}`;
  const reply = await installation.call("POST", "/agent/environments", {
    body: {
      name: `site ${randomUUID().slice(0, 8)}`,
      repos: [{ url, path: "site", secret: "DEPLOY_KEY", publish: { publish: "branch", ...publish } }],
    },
  });
  expect(reply).toMatchObject({ status: 201 });
  const { environment_id } = reply.body;
  return {
    ...{ origin, base, environment_id },
    /** The branches of the remote with their commits, except `main`. */
    branches: () =>
      git(origin.bare, "for-each-ref", "--format=%(refname) %(objectname)")
        .split("\n")
        .filter((line) => line !== `refs/heads/main ${base}`),
  };
}

type Site = Awaited<ReturnType<typeof createSite>>;

async function start({ environment_id }: Site, script: string[], body: object = {}): Promise<string> {
  return installation.create(script, { title: "Fix it", config: { environment_id }, ...body });
}

async function succeed(site: Site, script: string[]) {
  const run = await start(site, script);
  await installation.until(run, "SUCCEEDED");
  return describeRun(run);
}

async function describeRun(run: string) {
  const events = await installation.events(run);
  const results = events.filter(({ type }) => type === "tool.returned").map(({ data }) => data.output);
  const { body } = await installation.call("GET", `/agent/runs/${run}/publications`);
  return { run, events, output: outputOf(events), results, publications: body.publications };
}

const change = "echo more >> README.md && git commit -qam 'Change it' && git rev-parse HEAD";

describe("git push in a sandbox", () => {
  test("pushes the run's branch, and nothing else", async () => {
    const site = await createSite();
    const { output, events } = await succeed(site, [
      `RUN: ${change}; git push 2>&1`,
      "RUN: git remote get-url origin; git push 2>&1; git status -sb; git branch -r",
      "RUN: git tag v1; git push origin v1 2>&1; git push origin HEAD:main 2>&1; git push --all 2>&1",
      "RUN: git push -u origin HEAD 2>&1; git push origin :$(git branch -r | grep -o 'outrider/.*') 2>&1",
      "RUN: git push --mirror 2>&1; git push origin HEAD:refs/heads/outrider/of-another-run 2>&1",
      `RUN: git switch -qc "$(git branch -r | grep -o 'outrider/.*')"; ${change}; git push -u origin HEAD 2>&1`,
    ]);
    const [first, , second] = [...output.matchAll(/^[0-9a-f]{40}$/gm)].map(([commit]) => commit).concat([""]);
    const branch = /remote: Pushed to (outrider\/fix-it-\w+)\./.exec(output)?.[1] ?? "none";
    expect(output).toContain(`remote: Pushing 1 commit to ${branch}`);
    expect(output).toMatch(/^ssh:\/\/.*\nEverything up-to-date\n/m);
    expect(output).toContain("remote: Tags cannot be pushed.");
    expect(output).toContain(
      `Only the branch ${branch} can be pushed. Run: git push origin HEAD:refs/heads/${branch}`,
    );
    expect(output).toContain(`remote: The branch ${branch} cannot be deleted.`);
    expect(first).not.toBe(second);
    const tip = [...output.matchAll(/^[0-9a-f]{40}$/gm)].at(-1)?.[0];
    expect(site.branches()).toEqual([`refs/heads/${branch} ${tip}`]);
    expect(events.filter(({ type }) => type === "branch.pushed")).toHaveLength(2);
  });

  test("works in a warm sandbox, after an amended commit, and from a worktree", async () => {
    const site = await createSite();
    const run = await start(site, [`RUN: ${change}; git push 2>&1`], {
      config: { environment_id: site.environment_id, idle_timeout_minutes: 10 },
    });
    await installation.until(run, "SUCCEEDED");
    await installation.followUp(run, [
      "RUN: git commit -q --amend -m 'Change it better'; git push 2>&1 | grep -o non-fast-forward; git push --force-with-lease 2>&1",
      `RUN: git worktree add -q /tmp/tree && cd /tmp/tree && ${change} && git push 2>&1`,
    ]);
    await installation.until(run, "SUCCEEDED");
    const { output } = await describeRun(run);
    expect(output).toContain("non-fast-forward\n");
    const tip = [...output.matchAll(/^[0-9a-f]{40}$/gm)].at(-1)?.[0];
    expect(site.branches()).toEqual([expect.stringContaining(`${tip}`)]);
    expect(git(site.origin.bare, "log", "--format=%s", `${tip}`)).toMatch(/^Change it\nChange it better\n/);
  });

  test("says what is wrong with the commits", async () => {
    const site = await createSite({ max_diff_bytes: 1_024 });
    const { output } = await succeed(site, [
      "RUN: mkdir -p .github/workflows; echo x > .github/workflows/ci.yml; git add .; git commit -qm ci; git push 2>&1",
      "RUN: git reset -q --hard HEAD^; seq 10000 > large; git add .; git commit -qm large; git push 2>&1",
      "RUN: git reset -q --hard HEAD^; git push 2>&1",
      "RUN: git init -q /tmp/other; cd /tmp/other; git commit -qm x --allow-empty; git push http://127.0.0.1:3130/site HEAD:x 2>&1; git fetch http://127.0.0.1:3130/site 2>&1; git push http://127.0.0.1:3130/nowhere HEAD:x 2>&1",
    ]);
    expect(output).toContain(
      "remote: The environment's policy does not allow changes to `.github/workflows/ci.yml`.",
    );
    expect(output).toMatch(/remote: The diff has .*more than the 1 KiB/);
    expect(output).toContain("remote: There is nothing to publish");
    expect(output).toContain("Nothing can be fetched here.");
    expect(output).toContain('cannot push to the repository "nowhere"');
    expect(site.branches()).toEqual([]);
  });

  test("survives garbage, giant packs and other hosts' repositories", async () => {
    const site = await createSite();
    const request = (body: string) =>
      `(exec 3<>/dev/tcp/127.0.0.1/3130 && { printf 'POST /site/git-receive-pack HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n'; ${body}; } >&3; timeout 20 cat <&3 | tr -d '\\0' | head -c 2000)`;
    const { output } = await succeed(site, [
      `RUN: ${request("printf '7\\r\\nGARBAGE\\r\\n0\\r\\n\\r\\n'")}; echo`,
      "RUN: (exec 3<>/dev/tcp/127.0.0.1/3130; head -c 100000 /dev/urandom >&3; timeout 20 cat <&3 | head -n 1) 2>&1 | tr -d '\\0'",
      `RUN: branch=$(git config --get-all remote.origin.push | sed 's/.*://'); tip=$(git rev-parse HEAD); line="$(printf '0%.0s' {1..40}) $tip $branch"; head=$(printf '%04x%s0000' $((\${#line} + 4)) "$line"); ${request("printf '%x\\r\\n%s\\r\\n' ${#head} \"$head\"; for i in {1..20}; do printf '100000\\r\\n'; head -c 1048576 /dev/urandom; printf '\\r\\n'; done; printf '0\\r\\n\\r\\n'")} | strings | head -c 300; echo`,
      `RUN: ${change}; git push 2>&1`,
    ]);
    expect(output).toContain("The request is not a git push.");
    expect(output).toContain("HTTP/1.1 400");
    expect(output).toContain("remote: Pushed to outrider/");
    expect(site.branches()).toHaveLength(1);
  });
});

describe("the tool publish_changes", () => {
  test("publishes committed and uncommitted changes, and says where", async () => {
    const site = await createSite();
    const publish = 'CALL: publish_changes {"title": "Add a file", "body": "It was missing."}';
    const { results, publications } = await succeed(site, [
      publish,
      "WRITE: new.txt | new",
      publish,
      publish,
      'CALL: publish_changes {"title": "x", "body": "", "repository": "other"}',
    ]);
    const [nothing, , published, again, unknown] = results;
    expect(nothing).toContain("There is nothing to publish");
    const branch = /^Pushed to (outrider\/\S+)\.$/.exec(published)?.[1];
    expect(again).toBe(`There is nothing new to publish: all changes are on the branch ${branch}.`);
    expect(unknown).toContain("cannot publish the repository other. Set `repository` to one of: site.");
    expect(git(site.origin.bare, "log", "-1", "--format=%s", `${branch}`)).toBe("Add a file");
    expect(publications).toEqual([expect.objectContaining({ state: "DONE", branch, title: "Add a file" })]);
  });

  test("is offered only if the run has something to publish", async () => {
    const site = await createSite({ publish: "none" });
    const { events, results, output } = await succeed(site, [
      'CALL: publish_changes {"title": "x", "body": ""}',
      "RUN: git config --get-regexp 'pushinsteadof|remote.origin.push' || echo none; (exec 3<>/dev/tcp/127.0.0.1/3130) 2>/dev/null || echo closed",
    ]);
    expect(results[0]).toMatch(/publish_changes/);
    expect(output).toBe("none\nclosed\n");
    const started = events.find(({ type }) => type === "run.started");
    expect(started?.data.instructions).not.toContain("published");
    expect(site.branches()).toEqual([]);
  });
});

describe("the end of a turn", () => {
  test("publishes by policy, and updates the branch with each turn", async () => {
    const site = await createSite({ when: "on_success" });
    const { run, events } = await succeed(site, ["WRITE: one.txt | 1"]);
    const instructions = events.find(({ type }) => type === "run.started")?.data.instructions;
    expect(instructions).toMatch(
      /Your changes are published as a branch when your turn succeeds\. .*outrider\/fix-it-/,
    );
    await installation.event(run, ({ type }) => type === "branch.pushed");
    const [first] = site.branches();
    await installation.followUp(run, ["WRITE: two.txt | 2"]);
    await installation.until(run, "SUCCEEDED");
    const updated = () => site.branches().find((line) => line !== first);
    const [, commit] = (await vi.waitUntil(updated, waitOptions)).split(" ");
    expect(git(site.origin.bare, "ls-tree", "--name-only", `${commit}`)).toBe("README.md\none.txt\ntwo.txt");
    expect(git(site.origin.bare, "rev-list", "--count", `main..${commit}`)).toBe("2");
  });

  test("pushes nothing before a user has approved it", async () => {
    const site = await createSite({ when: "on_success", approval: "required" });
    const run = await start(site, ["WRITE: one.txt | 1"]);
    await installation.until(run, "BLOCKED");
    expect(site.branches()).toEqual([]);
    const { publications } = await describeRun(run);
    expect(publications).toEqual([expect.objectContaining({ state: "AWAITING_APPROVAL" })]);
    const path = `/agent/runs/${run}/publications/${publications[0].publication_id}/approve`;
    expect((await installation.call("POST", path, { body: {} })).status).toBe(200);
    await installation.until(run, "SUCCEEDED");
    await vi.waitUntil(() => site.branches().length === 1, waitOptions);
  });

  test("blocks the run if what the agent pushed and published needs approval", async () => {
    const site = await createSite({ approval: "required" });
    const run = await start(site, [
      `RUN: ${change}; git push 2>&1`,
      'CALL: publish_changes {"title": "Change it", "body": ""}',
    ]);
    await installation.until(run, "BLOCKED");
    const { output, results, publications } = await describeRun(run);
    expect(output).toMatch(/remote: A user must approve the changes before they are pushed to outrider\//);
    expect(output).toMatch(/! \[remote rejected\] .* \(needs approval\)/);
    expect(results.at(-1)).toContain("Do not wait for it: finish your turn.");
    const states = publications.map(({ state }: { state: string }) => state);
    expect(states.filter((state: string) => state === "AWAITING_APPROVAL")).toHaveLength(1);
    expect(site.branches()).toEqual([]);
  });

  test("with a damaged repository is a notice, and the turn succeeds", async () => {
    const site = await createSite({ when: "always" });
    const { events } = await succeed(site, ["RUN: rm -rf .git; echo x > README.md"]);
    const notices = events.filter(({ type, data }) => type === "notice" && data.code === "publishing");
    expect(notices.map(({ data }) => data.message)).toEqual([
      expect.stringContaining("/workspace/site is no longer a git repository"),
    ]);
    expect(site.branches()).toEqual([]);
  });
});

test("an agent resolves conflicts with newer commits of the base branch", async () => {
  const site = await createSite({ on_base_moved: "rebase" });
  const publish = 'CALL: publish_changes {"title": "Change it", "body": ""}';
  const { run } = await succeed(site, ["WRITE: README.md | of the run", publish]);
  site.origin.push("main", { "README.md": "of a colleague\n" });
  await installation.followUp(run, [
    "RUN: git log -1 --format=%B origin/main; echo more >> README.md; git commit -qam 'Change it'",
    publish,
    "RUN: git rebase -q -X theirs origin/main; git log --format=%s -2; cat README.md",
    publish,
  ]);
  await installation.until(run, "SUCCEEDED");
  const { results, output } = await describeRun(run);
  const [conflict, resolved] = results.slice(-2);
  expect(output).toContain("change of README.md\n");
  expect(conflict).toMatch(/conflict with the changes in .*README\.md/);
  expect(conflict).toMatch(/origin\/main in site is up to date now/);
  expect(resolved).toMatch(/^Pushed to outrider\//);
  const [branch] = site.branches().filter((line) => line.includes("outrider/"));
  const [, commit] = (branch ?? "").split(" ");
  expect(git(site.origin.bare, "merge-base", "main", `${commit}`)).toBe(
    git(site.origin.bare, "rev-parse", "main"),
  );
});

describe("a hostile sandbox", () => {
  test("finds no credential, and its hooks, filters and refs change nothing outside", async () => {
    const site = await createSite({ when: "always" });
    const key = ssh.key.split("\n")[2] as string;
    const needle = [...key].reverse().join("");
    const { output, events } = await succeed(site, [
      `RUN: ${change}; printf '#!/bin/sh\\necho hooked > /tmp/hooked\\n' > .git/hooks/pre-push; chmod +x .git/hooks/pre-push; git config filter.x.clean 'touch /tmp/filtered; cat'; git push 2>&1`,
      // Looks for the key while a push is in progress.
      `RUN: ${change}; needle=$(printf %s '${needle}' | rev); (git push > /tmp/push 2>&1 &); for i in {1..20}; do cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -vF "needle" | grep -cF "$needle"; done | sort -u; grep -rlF "$needle" /workspace /home /tmp /etc /run 2>/dev/null; cat /tmp/push; env | grep -ci deploy; ls -a ~/.ssh 2>&1 | grep -c id_`,
      "RUN: git update-ref refs/remotes/origin/main HEAD; git symbolic-ref refs/heads/evil refs/heads/main; git replace HEAD HEAD~1; echo HEAD > .git/refs/heads/x.lock; true",
      "RUN: mv .git /tmp/real && ln -s /tmp/real .git; true",
    ]);
    expect(output).toMatch(/^0$/m);
    expect(output).not.toContain(key);
    expect(JSON.stringify(events)).not.toContain(key);
    await vi.waitUntil(() => site.branches().length === 1, waitOptions);
    expect(site.branches()).toEqual([expect.stringContaining("refs/heads/outrider/fix-it-")]);
  });
});
