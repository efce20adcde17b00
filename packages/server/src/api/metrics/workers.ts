import { WorkerFigures } from "@outrider/contract/worker";
import { Counter, Gauge, type Registry } from "prom-client";
import type { Faring } from "../../store/workers.ts";

const kinds = WorkerFigures.shape.errors.keyof().options;

/**
 * What heartbeats say of each worker that lives. Its id is its start's, so counts begin anew with the label, and what is
 * gone leaves no label behind. Answers how to bring it up to date.
 */
export function registerWorkers(register: Registry): (workers: Faring[]) => void {
  const registers = [register];
  const gauge = (name: string, help: string, ...labels: string[]) =>
    new Gauge({ name: `outrider_worker_${name}`, help, labelNames: ["worker", ...labels], registers });
  const counter = (name: string, help: string, ...labels: string[]) =>
    new Counter({ name: `outrider_worker_${name}`, help, labelNames: ["worker", ...labels], registers });
  const all = {
    info: gauge(
      "info",
      "1 for each worker that lives: what it is called, and its version.",
      "name",
      "version",
    ),
    used: gauge("slots_used", "Slots that runs and builds of the worker take."),
    free: gauge(
      "slots_free",
      "Slots that could take more; none while it drains or its disk is short of space.",
    ),
    sandboxes: gauge("sandboxes", "Open sandboxes, those kept for a follow-up included."),
    memory: gauge("memory_bytes", "Memory of the worker's process, without its sandboxes."),
    heap: gauge("heap_bytes", "JavaScript's part of it."),
    disks: gauge("disk_free_bytes", "Room on the disks that the worker writes to.", "folder"),
    caches: gauge("cache_bytes", "What prepared environments and mirrors of repositories take.", "cache"),
    cpu: counter("cpu_seconds_total", "Processor time of the worker's process, without its sandboxes."),
    errors: counter("errors_total", "What has gone wrong for the worker, by kind.", "kind"),
    lines: counter("log_lines_total", "Warnings and errors in the worker's log.", "level"),
  };

  function show({ worker_id: worker, name, version, slots, draining, figures }: Faring) {
    all.info.set({ worker, name, version }, 1);
    if (!figures) return;
    all.used.set({ worker }, figures.slots_used);
    const takesWork = !draining && figures.takes_work !== false;
    all.free.set({ worker }, takesWork ? Math.max(0, slots - figures.slots_used) : 0);
    all.sandboxes.set({ worker }, figures.sandboxes);
    all.memory.set({ worker }, figures.memory_bytes);
    if (figures.heap_bytes !== undefined) all.heap.set({ worker }, figures.heap_bytes);
    for (const [folder, bytes] of known(figures.disk_free_bytes)) all.disks.set({ worker, folder }, bytes);
    for (const [cache, bytes] of known(figures.cache_bytes)) all.caches.set({ worker, cache }, bytes);
    all.cpu.inc({ worker }, figures.cpu_seconds);
    for (const kind of kinds) all.errors.inc({ worker, kind }, figures.errors[kind] ?? 0);
    for (const [level, count] of known(figures.log_lines)) all.lines.inc({ worker, level }, count);
  }

  return (workers) => {
    for (const one of Object.values(all)) one.reset();
    for (const worker of workers) show(worker);
  };
}

function known(figures: Record<string, number | undefined>): [name: string, figure: number][] {
  return Object.entries(figures).flatMap(([name, figure]) => (figure === undefined ? [] : [[name, figure]]));
}
