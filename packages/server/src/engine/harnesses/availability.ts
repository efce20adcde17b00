import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import type { Harness, WorkerHarness } from "@outrider/contract/harness";
import type { LiveWorker } from "../../store/dispatch/workers.ts";

interface Availability extends Pick<Harness, "available" | "reason" | "installed" | "version"> {}

/** Returns whether the connected workers can execute runs with a harness, and why not. */
export function availabilityOf(
  workers: LiveWorker[],
  { name, isDeclared, forAdmins }: { name: string; isDeclared: boolean; forAdmins: boolean },
): Availability {
  if (name === DEFAULT_HARNESS) return { available: true, installed: true };
  const able = workers.filter(({ draining, takes_harnesses }) => takes_harnesses && !draining);
  const reports = able.flatMap(({ stats }) => stats?.harnesses?.filter((known) => known.name === name) ?? []);
  const usable = reports.filter(({ problem }) => problem === undefined);
  const version = newestVersion(usable.length > 0 ? usable : reports);
  const known = { installed: usable.some(({ installed }) => installed), ...(version ? { version } : {}) };
  const unavailable = (reason: string) => ({ ...known, available: false, reason });
  if (workers.length === 0) return unavailable("no worker is connected");
  if (able.length === 0)
    return unavailable("the connected workers cannot execute other agents; upgrade or restart them");
  if (usable.length > 0) return { ...known, available: true };
  const [first] = reports;
  if (first) {
    const problem = forAdmins ? first.problem : "see `outrider doctor` on the worker";
    return unavailable(`no connected worker can use it: ${problem}`);
  }
  // Workers learn about declared harnesses only from runs.
  return isDeclared ? { ...known, available: true } : unavailable("no connected worker has reported it");
}

/** During an upgrade, workers may report several versions. */
function newestVersion(reports: WorkerHarness[]): string | undefined {
  return reports
    .flatMap(({ version }) => version ?? [])
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
    .at(-1);
}
