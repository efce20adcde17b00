import { join } from "node:path";
import { Supervisor } from "@outrider/worker/supervisor/supervisor";
import { openWorkerLog } from "../../packages/cli/src/worker-log.ts";

/** Runs a worker like `outrider worker`. The settings can contain mounts, for which the command has no option. */

const settings = JSON.parse(process.argv[2] as string);
const stallMs = Number(process.argv[3]);
const supervisor = new Supervisor({
  program: { file: join(import.meta.dirname, "../../packages/cli/src/worker-process.ts"), args: ["json"] },
  settings: { ...settings, key: process.env.OUTRIDER_WORKER_KEY, version: "0" },
  stallMs,
  onReady() {
    process.once("SIGTERM", () => supervisor.drain());
  },
  log: openWorkerLog({ name: settings.name, format: "json" }).log,
});
process.exit(await supervisor.run());
