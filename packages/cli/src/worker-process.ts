import type { LogFormat } from "@outrider/server/logging/log-output";
import { runWorkerProcess } from "@outrider/worker/supervisor/worker-process";
import { openWorkerLog } from "./worker-log.ts";

/** The program of the processes that `outrider worker` supervises. The argument is the log format. */

const format = process.argv[2] as LogFormat;
await runWorkerProcess({ openLog: ({ name }) => openWorkerLog({ name, format }) });
