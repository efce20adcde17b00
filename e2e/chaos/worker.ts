import { startWorker } from "@outrider/worker/worker";
import { pino } from "pino";

/** Starts a worker like `outrider worker`. Its options can mount a folder of the host as /outside in its sandboxes. */

const options = JSON.parse(process.argv[2] as string);
const log = pino({ timestamp: pino.stdTimeFunctions.isoTime });
const worker = await startWorker({
  ...options,
  key: process.env.OUTRIDER_WORKER_KEY,
  version: "0",
  log,
});
log.info({ worker_id: worker.workerId }, "ready for runs");
process.once("SIGTERM", async () => {
  await worker.drain();
  process.exit(0);
});
