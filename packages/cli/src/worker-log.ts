import { type LogFormat, type LogOutput, openLogOutput } from "@outrider/server/logging/log-output";
import { traceFields } from "@outrider/telemetry/spans";
import { type Logger, pino } from "pino";

/** Opens the log of a worker. All processes of a worker write to the same output. */
export function openWorkerLog({ name, format }: { name: string; format: LogFormat }): {
  log: Logger;
  exportTo: LogOutput["exportTo"];
} {
  const options = {
    base: { worker: name, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { error: pino.stdSerializers.err },
    mixin: traceFields,
  };
  const output = openLogOutput({ format });
  return { log: pino(options, output), exportTo: output.exportTo };
}
