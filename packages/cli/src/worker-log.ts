import { type LogFormat, openLogOutput } from "@outrider/server/logging/log-output";
import { type Logger, pino } from "pino";

/** Opens the log of a worker. All processes of a worker write to the same output. */
export function openWorkerLog({ name, format }: { name: string; format: LogFormat }): Logger {
  const options = {
    base: { worker: name, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { error: pino.stdSerializers.err },
  };
  return pino(options, openLogOutput({ format }));
}
