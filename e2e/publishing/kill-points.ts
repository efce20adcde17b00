import type { Step } from "./gate.ts";

/** The steps of publishing at which a process is killed, in the order in which a run passes them. */

export interface KillPoint extends Step {
  /** Between the worker and the server, or between one of them and the forge. */
  gate: "server" | "forge";
  /** Where the pull request is merged before the step. */
  isMerged?: true;
}

const publications = /^\/api\/v1\/worker\/executions\/[^/]+\/publications$/;
const take = /^\/api\/v1\/worker\/publications\/[^/]+\/take$/;
const finish = /^\/api\/v1\/worker\/publications\/[^/]+\/finish$/;
const finishRun = /^\/api\/v1\/worker\/executions\/[^/]+\/finish$/;
const receivePack = /\/git-receive-pack$/;
const pulls = /^\/api\/v3\/repos\/[^/]+\/[^/]+\/pulls(\?|$)/;
const pull = /^\/api\/v3\/repos\/[^/]+\/[^/]+\/pulls\/\d+$/;
const labels = /^\/api\/v3\/repos\/[^/]+\/[^/]+\/issues\/\d+\/labels$/;

export const killPoints = {
  "while the commits are uploaded": {
    gate: "server",
    method: "PUT",
    path: /^\/api\/v1\/worker\/blobs\//,
    when: "before",
  },
  "between upload and report": { gate: "server", method: "POST", path: publications, when: "before" },
  "after the commits are reported": { gate: "server", method: "POST", path: publications, when: "after" },
  "before the run ends": { gate: "server", method: "POST", path: finishRun, when: "before" },
  "before a worker takes the publication": { gate: "server", method: "POST", path: take, when: "before" },
  "after a worker takes the publication": { gate: "server", method: "POST", path: take, when: "after" },
  "during the push": { gate: "forge", method: "POST", path: receivePack, when: "before" },
  "after the push": { gate: "forge", method: "POST", path: receivePack, when: "after" },
  "before the push is reported": { gate: "server", method: "POST", path: finish, when: "before" },
  "after the push is reported": { gate: "server", method: "POST", path: finish, when: "after" },
  "before the pull request is looked for": { gate: "forge", method: "GET", path: pulls, when: "before" },
  "before the pull request is created": { gate: "forge", method: "POST", path: pulls, when: "before" },
  "after the pull request is created": { gate: "forge", method: "POST", path: pulls, when: "after" },
  "before the pull request has labels": { gate: "forge", method: "POST", path: labels, when: "before" },
  "while the pull request is polled": {
    ...{ gate: "forge", method: "GET", path: pull, when: "before" },
    isMerged: true,
  },
  "after the pull request is polled": {
    ...{ gate: "forge", method: "GET", path: pull, when: "after" },
    isMerged: true,
  },
} satisfies Record<string, KillPoint>;

export type KillPointName = keyof typeof killPoints;
export const killPointNames = Object.keys(killPoints) as KillPointName[];
export const victims = ["the worker", "the server", "both"] as const;
export type Victim = (typeof victims)[number];
