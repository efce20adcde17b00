import { setTimeout as pause } from "node:timers/promises";
import { expect, vi } from "vitest";
import type { GitHubStub } from "../../packages/server/test/forges/github-stub.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { type Random, randomFrom } from "../chaos/random.ts";
import type { HeldRequest } from "./gate.ts";
import { branchesOf, CHECKOUT, gitIn, type PublishingInstallation } from "./installation.ts";
import { type KillPoint, type KillPointName, killPoints, type Victim } from "./kill-points.ts";

const REPOSITORY = "acme/api";

export interface Published {
  run: string;
  branch: string;
}

export interface Round {
  installation: PublishingInstallation;
  stub: GitHubStub;
  environment: string;
  /** What the rounds before this one have published. */
  published: Published[];
}

/**
 * Publishes the changes of a run, kills processes at a step, and expects exactly one branch and one pull request. The seed
 * decides what is changed, what happens to the request that was held, and in which order processes start again.
 */
export async function killDuring(
  { installation, stub, environment, published }: Round,
  { point, victim, seed }: { point: KillPointName; victim: Victim; seed: number },
): Promise<void> {
  const random = randomFrom(seed);
  const step: KillPoint = killPoints[point];
  const file = `notes-${published.length + 1}.txt`;
  const commit = random.chance(0.7)
    ? `git add ${file} && git commit -qm "Add ${file}"`
    : "git status --short";
  const gate = step.gate === "forge" ? installation.forge : installation.gate;
  const held = step.isMerged ? undefined : gate.hold(step);
  const run = await installation.createRun({
    environment,
    title: `Add ${file}`,
    publish: "draft_pull_request",
    script: [
      `RUN: cd /workspace/${CHECKOUT} && echo ${seed} > ${file} && ${commit}`,
      `RUN: cd /workspace/${CHECKOUT} && sh -c 'test -s ${file}' && make --version > /dev/null || true`,
      "SAY: I added a file with notes.",
    ],
  });
  let kept = held;
  if (step.isMerged) {
    await installation.until(run, "SUCCEEDED");
    const { pull_request } = await installation.untilPublished(run);
    stub.merge(REPOSITORY, pull_request?.number as number);
    kept = gate.hold(step);
    await installation.pollNow(run);
  }
  await arrival(kept as HeldRequest, `the step "${point}"`);
  const finishLate = await kill(installation, { step, victim, random, run, held: kept as HeldRequest });

  await installation.until(run, "SUCCEEDED");
  const last = await installation.untilPublished(run);
  finishLate();
  await expectOne({
    installation,
    stub,
    published: [...published, { run, branch: last.branch }],
    file,
    seed,
  });
  if (step.isMerged) {
    await vi.waitUntil(
      async () => (await installation.pullRequests(run))[0]?.state === "merged",
      waitOptions,
    );
    const events = await installation.events(run);
    const merges = events.filter(
      ({ type, data }) => type === "pull_request.updated" && data.state === "merged",
    );
    expect(merges).toHaveLength(1);
  }
  published.push({ run, branch: last.branch });
}

async function arrival({ arrived }: HeldRequest, what: string): Promise<void> {
  const stopped = new AbortController();
  const timeout = pause(waitOptions.timeout, undefined, { signal: stopped.signal }).then(() => {
    throw new Error(`The run did not reach ${what}.`);
  });
  try {
    await Promise.race([arrived, timeout]);
  } finally {
    stopped.abort();
    await timeout.catch(() => {});
  }
}

/** Returns what happens to the held request after the publication is complete. */
async function kill(
  installation: PublishingInstallation,
  {
    step,
    victim,
    random,
    run,
    held,
  }: { step: KillPoint; victim: Victim; random: Random; run: string; held: HeldRequest },
): Promise<() => void> {
  const [worker, server] = [victim !== "the server", victim !== "the worker"];
  if (worker) await installation.killWorker();
  if (server) await installation.killServer();
  const isOfWorker = step.gate === "server" || step.path.test("/git-receive-pack");
  const isSenderDead = isOfWorker ? worker : server;
  // A request of a dead process can arrive much later.
  const isLate = isSenderDead && step.when === "before" && random.chance(0.5);
  const starts = [
    ...(server ? [() => installation.startServer()] : []),
    ...(worker ? [() => installation.startWorker()] : []),
  ];
  // A worker needs a server to start.
  if (starts.length === 2) await Promise.all(starts.map((start) => start()));
  else await starts[0]?.();
  if (!isLate) {
    if (isSenderDead || random.chance(0.5)) held.drop();
    else held.release();
  }
  // The response of the server to a take is lost with the server, so the lease that it gave has no holder.
  await installation.expireLeases(run, {
    worker: worker || step.path.test("/api/v1/worker/publications/x/take"),
    server,
  });
  return isLate ? held.release : () => {};
}

/** Expects that each run has one branch with the right commit and one pull request. */
async function expectOne({
  installation,
  stub,
  published,
  file,
  seed,
}: Omit<Round, "environment"> & { file: string; seed: number }): Promise<void> {
  const repository = stub.repositories.get(REPOSITORY);
  const folder = repository?.folder as string;
  const { run, branch } = published.at(-1) as Published;
  const [last, ...earlier] = await installation.publications(run);
  expect(
    earlier.map(({ state }) => state).filter((state) => state !== "DONE" && state !== "SUPERSEDED"),
  ).toEqual([]);
  const branches = branchesOf(folder);
  expect(Object.keys(branches).sort()).toEqual(["main", ...published.map((one) => one.branch)].sort());
  expect(branches[branch]).toBe(last?.commit);
  expect(gitIn(folder, "show", `${branch}:${file}`)).toBe(String(seed));
  expect(gitIn(folder, "diff", "--name-only", `main...${branch}`)).toBe(file);
  expect(gitIn(folder, "rev-list", "--count", `main..${branch}`)).toBe("1");
  const pulls = (repository?.pulls ?? []).map(({ head, base, draft }) => ({ head, base, draft }));
  expect(pulls).toEqual(published.map((one) => ({ head: one.branch, base: "main", draft: true })));
  const number = repository?.pulls.at(-1)?.number;
  expect(await installation.pullRequests(run)).toMatchObject([{ number, branch, base: "main" }]);
  const events = await installation.events(run);
  const dataOf = (type: string) => events.filter((event) => event.type === type).map(({ data }) => data);
  expect(dataOf("pull_request.opened")).toMatchObject([{ number, branch }]);
  expect(dataOf("branch.pushed").at(-1)).toMatchObject({ branch, commit: last?.commit });
  expect(stub.violations).toEqual([]);
}
