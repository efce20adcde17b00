import { type Random, randomFrom } from "./random.ts";

/** The requests and faults of a round, each with its time in milliseconds. The seed determines the whole plan. */
export interface Plan {
  runs: PlannedRun[];
  faults: PlannedFault[];
}

export const owners = ["user", "limited key", "agent of two", "agent of one"] as const;
export type Owner = (typeof owners)[number];

export interface PlannedRun {
  name: string;
  at: number;
  owner: Owner;
  inEnvironment: boolean;
  priority: number;
  script: string[];
  /** Sent one at a time: each waits until the previous one is acknowledged. */
  actions: RunAction[];
}

export type RunAction =
  | { type: "followup"; at: number; name: string; mode: "auto" | "queue" | "interrupt"; script: string[] }
  | { type: "cancel"; at: number; name: string };

export const targets = {
  servers: ["server 1", "server 2"],
  workers: ["worker 1", "worker 2", "worker 3"],
} as const;
type Server = (typeof targets.servers)[number];
type Worker = (typeof targets.workers)[number];
/** Proxies are named after the component that connects. A server's proxy forwards to the database. */
export type ProxyName = Server | Worker | `clients of ${Server}`;

type FaultKind =
  | { type: "kill" | "pause"; target: Server | Worker | "database" }
  | { type: "restart"; target: Server | Worker }
  | { type: "disconnect"; target: ProxyName; mode: "stalled" | "reset" | "stalled, then reset" }
  | { type: "redirect"; target: Worker }
  | ClusterFault;

/** Faults of the cluster whose pods are sandboxes. */
type ClusterFault =
  | { type: "kill"; target: "kube-apiserver" | "kubelet" }
  | { type: "delete"; target: "pod" };

export type PlannedFault = FaultKind & { at: number; ms: number };

const RUNS = 10;
/** No fault starts later than this. Actions may come a little later. */
const HORIZON_MS = 8_000;

/** With pods, the faults of the cluster come in addition to the same plan. */
export function makePlan(seed: number, { hasPods = false } = {}): Plan {
  const random = randomFrom(seed);
  return {
    runs: [
      ...["long-1", "long-2"].map(planLongRun),
      ...Array.from({ length: RUNS }, (_, index) => planRun(random, `run-${index + 1}`)),
    ],
    faults: [
      ...[...planLongPauses(random), ...planFaults(random)],
      ...(hasPods ? planClusterFaults(randomFrom(seed)) : []),
    ].sort((one, other) => one.at - other.at),
  };
}

function planClusterFaults(random: Random): PlannedFault[] {
  const kinds: ClusterFault[] = [
    { type: "kill", target: "kube-apiserver" },
    { type: "kill", target: "kubelet" },
    ...Array.from({ length: 3 }, () => ({ type: "delete" as const, target: "pod" as const })),
  ];
  return kinds.map((kind) => ({
    ...{ ...kind, at: random.between(1_000, HORIZON_MS), ms: random.between(500, 4_000) },
  }));
}

/**
 * Every plan has steps that outlast the lease and its grace period, and pauses their workers for as long. Only the
 * watchdog can end such a step before another worker starts it again. Random faults alone would rarely test that.
 */
function planLongRun(name: string): PlannedRun {
  const script = [stepLine(`${name}.step-1`, 7_000)];
  return { name, at: 0, owner: "user", inEnvironment: false, priority: 2, script, actions: [] };
}

function planLongPauses(random: Random): PlannedFault[] {
  const unaffected = random.pick(targets.workers);
  return targets.workers
    .filter((target) => target !== unaffected)
    .map((target) => ({ type: "pause", target, at: random.between(1_500, 2_500), ms: 5_000 }));
}

function planRun(random: Random, name: string): PlannedRun {
  const at = random.between(0, HORIZON_MS / 2);
  const actions = Array.from({ length: random.between(0, 3) }, (_, index) => ({
    type: "followup" as const,
    at: random.between(at, HORIZON_MS),
    name: `${name}.followup-${index + 1}`,
    mode: random.pick(["auto", "queue", "interrupt"] as const),
    script: planScript(random, `${name}.followup-${index + 1}`, 2),
  })).sort((one, other) => one.at - other.at);
  const cancel = { type: "cancel" as const, at: random.between(at, HORIZON_MS), name: `${name}.cancel` };
  return {
    name,
    at,
    owner: random.pick(owners),
    inEnvironment: random.chance(0.4),
    priority: random.between(-2, 2),
    script: planScript(random, name, 3),
    // A cancel is always last: a follow-up after it may wait a minute until the worker has closed the run.
    actions: random.chance(0.25) ? [...actions, cancel] : actions,
  };
}

function planScript(random: Random, name: string, maxSteps: number): string[] {
  const lines: string[] = [];
  for (let count = random.between(1, maxSteps); count > 0; count--) {
    if (random.chance(0.2)) lines.push(`SAY: message of ${name}`);
    if (random.chance(0.2)) lines.push(`SLEEP: ${random.between(50, 600)}`);
    if (random.chance(0.2)) lines.push(`WRITE: ${name}.txt | written by ${name}`);
    lines.push(stepLine(`${name}.step-${lines.length + 1}`, random.between(50, 800)));
    if (random.chance(0.1)) lines.push(`ASK: May ${name} continue?`);
  }
  if (random.chance(0.08)) lines.push(`FAIL: ${name} fails as scripted.`);
  return lines;
}

/** Runs step.sh. */
const stepLine = (name: string, ms: number) => `RUN: /outside/step ${name} ${ms}`;

/** Returns the names of the steps in a script. */
export function stepsOf(script: string): string[] {
  return [...script.matchAll(/^RUN: \/outside\/step (\S+)/gm)].map(([, name]) => name as string);
}

/** Half of the faults are shorter than a lease; the others outlast the lease and its grace period. */
function planFaults(random: Random): PlannedFault[] {
  const faults: PlannedFault[] = [];
  for (let at = random.between(500, 1_000); at < HORIZON_MS; at += random.between(200, 900)) {
    const ms = random.chance(0.5) ? random.between(100, 1_000) : random.between(2_000, 6_000);
    faults.push({ at, ms, ...planFaultKind(random) });
  }
  return faults;
}

function planFaultKind(random: Random): FaultKind {
  const type = random.pick([
    "kill",
    "pause",
    "pause",
    "disconnect",
    "disconnect",
    "restart",
    "redirect",
    "database",
  ] as const);
  const component = random.pick([...targets.workers, ...targets.servers]);
  switch (type) {
    case "kill":
    case "pause":
    case "restart":
      return { type, target: component };
    case "redirect":
      return { type, target: random.pick(targets.workers) };
    case "database":
      return { type: random.pick(["kill", "pause"]), target: "database" };
    case "disconnect": {
      const server = random.pick(targets.servers);
      const target = random.chance(0.2) ? (`clients of ${server}` as const) : component;
      return { type, target, mode: random.pick(["stalled", "reset", "stalled, then reset"]) };
    }
  }
}
