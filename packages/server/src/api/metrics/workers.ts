import { WorkerStats } from "@outrider/contract/worker";
import { Counter, Gauge, type Registry } from "prom-client";
import type { LiveWorker } from "../../store/dispatch/workers.ts";

const kinds = WorkerStats.shape.errors.keyof().options;

/**
 * Registers the metrics that live workers report in heartbeats, labeled with the worker's ID. A restarted worker has a
 * new ID, so its counters start at 0 under a new label. The labels of stopped workers disappear. Returns a function
 * that updates the metrics.
 */
export function registerWorkers(register: Registry): (workers: LiveWorker[]) => void {
  const registers = [register];
  const gauge = (name: string, help: string, ...labels: string[]) =>
    new Gauge({ name: `outrider_worker_${name}`, help, labelNames: ["worker", ...labels], registers });
  const counter = (name: string, help: string, ...labels: string[]) =>
    new Counter({ name: `outrider_worker_${name}`, help, labelNames: ["worker", ...labels], registers });
  const all = {
    info: gauge("info", "1 for each live worker, with its name and version.", "name", "version"),
    used: gauge("slots_used", "Slots used by runs and builds."),
    free: gauge("slots_free", "Free slots; 0 while the worker is draining or its disk is low on space."),
    sandboxes: gauge("sandboxes", "Open sandboxes, including warm ones waiting for a follow-up."),
    memory: gauge("memory_bytes", "Memory of the worker process, without its sandboxes."),
    heap: gauge("heap_bytes", "JavaScript heap of the worker process."),
    disks: gauge("disk_free_bytes", "Free space on the disks that the worker writes to.", "folder"),
    caches: gauge("cache_bytes", "Disk space used by builds, their chunks and repository mirrors.", "cache"),
    cpu: counter("cpu_seconds_total", "CPU time of the worker process, without its sandboxes."),
    errors: counter("errors_total", "Worker errors, by kind.", "kind"),
    lines: counter("log_lines_total", "Warnings and errors in the worker's log.", "level"),
  };

  function show({ worker_id: worker, name, version, slots, draining, stats }: LiveWorker) {
    all.info.set({ worker, name, version }, 1);
    if (!stats) return;
    all.used.set({ worker }, stats.slots_used);
    const acceptsWork = !draining && stats.accepts_runs !== false;
    all.free.set({ worker }, acceptsWork ? Math.max(0, slots - stats.slots_used) : 0);
    all.sandboxes.set({ worker }, stats.sandboxes);
    all.memory.set({ worker }, stats.memory_bytes);
    if (stats.heap_bytes !== undefined) all.heap.set({ worker }, stats.heap_bytes);
    for (const [folder, bytes] of definedEntries(stats.disk_free_bytes))
      all.disks.set({ worker, folder }, bytes);
    for (const [cache, bytes] of definedEntries(stats.cache_bytes)) all.caches.set({ worker, cache }, bytes);
    all.cpu.inc({ worker }, stats.cpu_seconds);
    for (const kind of kinds) all.errors.inc({ worker, kind }, stats.errors[kind] ?? 0);
    for (const [level, count] of definedEntries(stats.log_lines)) all.lines.inc({ worker, level }, count);
  }

  return (workers) => {
    for (const metric of Object.values(all)) metric.reset();
    for (const worker of workers) show(worker);
  };
}

function definedEntries(stats: Record<string, number | undefined>): [name: string, value: number][] {
  return Object.entries(stats).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
}
