import type { Behaviour } from "./behaviour.ts";
import { aroundRuns } from "./behaviours/around-runs.ts";
import { connections } from "./behaviours/connections.ts";
import { pages } from "./behaviours/pages.ts";
import { refusals } from "./behaviours/refusals.ts";
import { retries } from "./behaviours/retries.ts";
import { runs } from "./behaviours/runs.ts";
import { streams } from "./behaviours/streams.ts";

/** What every client does, whatever its language. Each is played against the real server behind the fault proxy. */
export const behaviours: Behaviour[] = [
  ...runs,
  ...aroundRuns,
  ...refusals,
  ...retries,
  ...connections,
  ...pages,
  ...streams,
];
