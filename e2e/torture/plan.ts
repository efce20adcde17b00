import { type Random, randomFrom } from "./random.ts";

/** What a round does: who asks for what, and what breaks, each at its moment in milliseconds. The seed fixes it all. */
export interface Plan {
  runs: PlannedRun[];
  faults: Fault[];
}

export const owners = ["person", "limited key", "agent of two", "agent of one"] as const;
export type Owner = (typeof owners)[number];

export interface PlannedRun {
  name: string;
  at: number;
  owner: Owner;
  inEnvironment: boolean;
  priority: number;
  script: string[];
  /** One after the other: each waits until the one before is acknowledged. */
  acts: Act[];
}

export type Act =
  | { type: "followup"; at: number; name: string; mode: "auto" | "queue" | "interrupt"; script: string[] }
  | { type: "cancel"; at: number; name: string };

export const targets = {
  servers: ["server 1", "server 2"],
  workers: ["worker 1", "worker 2", "worker 3"],
} as const;
type Server = (typeof targets.servers)[number];
type Worker = (typeof targets.workers)[number];
/** Links by who connects: a server's leads to the database. */
export type LinkName = Server | Worker | `clients of ${Server}`;

type Trouble =
  | { type: "kill" | "stop"; target: Server | Worker | "database" }
  | { type: "restart"; target: Server | Worker }
  | { type: "cut"; target: LinkName; how: "silent" | "broken" | "silent, then broken" }
  | { type: "move"; target: Worker };

export type Fault = Trouble & { at: number; ms: number };

const RUNS = 10;
/** Faults begin until then; acts may come a little later. */
const HORIZON_MS = 8_000;

export function makePlan(seed: number): Plan {
  const random = randomFrom(seed);
  return {
    runs: [
      ...["long-1", "long-2"].map(planLongRun),
      ...Array.from({ length: RUNS }, (_, index) => planRun(random, `run-${index + 1}`)),
    ],
    faults: [...planLongStops(random), ...planFaults(random)].sort((one, other) => one.at - other.at),
  };
}

/**
 * Every plan has steps that outlast lease and grace, and workers that are stopped for as long meanwhile. Only the switch
 * can end such a step before another worker begins it anew; chance alone would seldom put it to the test.
 */
function planLongRun(name: string): PlannedRun {
  const script = [stepLine(`${name}.step-1`, 7_000)];
  return { name, at: 0, owner: "person", inEnvironment: false, priority: 2, script, acts: [] };
}

function planLongStops(random: Random): Fault[] {
  const spared = random.pick(targets.workers);
  return targets.workers
    .filter((target) => target !== spared)
    .map((target) => ({ type: "stop", target, at: random.between(1_500, 2_500), ms: 5_000 }));
}

function planRun(random: Random, name: string): PlannedRun {
  const at = random.between(0, HORIZON_MS / 2);
  const acts = Array.from({ length: random.between(0, 3) }, (_, index) => ({
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
    // Always the last: a run that is asked to go on after a cancel may wait a minute for its worker to close it.
    acts: random.chance(0.25) ? [...acts, cancel] : acts,
  };
}

function planScript(random: Random, name: string, most: number): string[] {
  const lines: string[] = [];
  for (let count = random.between(1, most); count > 0; count--) {
    if (random.chance(0.2)) lines.push(`SAY: words of ${name}`);
    if (random.chance(0.2)) lines.push(`SLEEP: ${random.between(50, 600)}`);
    if (random.chance(0.2)) lines.push(`WRITE: ${name}.txt | written by ${name}`);
    lines.push(stepLine(`${name}.step-${lines.length + 1}`, random.between(50, 800)));
    if (random.chance(0.1)) lines.push(`ASK: May ${name} go on?`);
  }
  if (random.chance(0.08)) lines.push(`FAIL: ${name} was told to fail.`);
  return lines;
}

/** See step.sh. */
const stepLine = (name: string, ms: number) => `RUN: /outside/step ${name} ${ms}`;

/** The steps that a script asks for, by name. */
export function stepsOf(script: string): string[] {
  return [...script.matchAll(/^RUN: \/outside\/step (\S+)/gm)].map(([, name]) => name as string);
}

/** Some are short and pass within a lease, some outlast lease and grace. */
function planFaults(random: Random): Fault[] {
  const faults: Fault[] = [];
  for (let at = random.between(500, 1_000); at < HORIZON_MS; at += random.between(200, 900)) {
    const ms = random.chance(0.5) ? random.between(100, 1_000) : random.between(2_000, 6_000);
    faults.push({ at, ms, ...planTrouble(random) });
  }
  return faults;
}

function planTrouble(random: Random): Trouble {
  const type = random.pick(["kill", "stop", "stop", "cut", "cut", "restart", "move", "database"] as const);
  const part = random.pick([...targets.workers, ...targets.servers]);
  switch (type) {
    case "kill":
    case "stop":
    case "restart":
      return { type, target: part };
    case "move":
      return { type, target: random.pick(targets.workers) };
    case "database":
      return { type: random.pick(["kill", "stop"]), target: "database" };
    case "cut": {
      const clients = random.pick(targets.servers);
      const target = random.chance(0.2) ? (`clients of ${clients}` as const) : part;
      return { type, target, how: random.pick(["silent", "broken", "silent, then broken"]) };
    }
  }
}
