import { startWorker } from "@outrider/worker/worker";
import { pino } from "pino";

/** A worker as `outrider worker` starts it, but for the folder outside that its sandboxes may write to. */

const { outside, ...options } = JSON.parse(process.argv[2] as string);
const log = pino({ timestamp: pino.stdTimeFunctions.isoTime });
const worker = await startWorker({
  ...options,
  key: process.env.OUTRIDER_WORKER_KEY,
  version: "0",
  mounts: [{ source: outside, target: "/outside", writable: true }],
  log,
});
log.info({ worker_id: worker.workerId }, "ready for runs");
process.once("SIGTERM", async () => {
  await worker.drain();
  process.exit(0);
});
