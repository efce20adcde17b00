import { parentPort } from "node:worker_threads";

/** Runs the jobs that this thread receives, one at a time (see job-threads.ts). */
export function serveJobs<Job, Result>(run: (job: Job) => Result): void {
  parentPort?.on("message", (job: Job) => {
    // The time limit starts here, so that a slow start of the thread does not count.
    parentPort?.postMessage("started");
    parentPort?.postMessage({ result: run(job) });
  });
}
