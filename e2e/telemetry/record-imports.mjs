import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";

/**
 * Loaded with `--import` into all processes: appends the modules of OpenTelemetry that a process loads to a file. The API
 * without an SDK does nothing, and prom-client always loads it.
 */

const file = new URL(import.meta.url).searchParams.get("file");
registerHooks({
  load(url, context, next) {
    if (/\/@opentelemetry\/(?!api\/)/.test(url)) appendFileSync(file, `${process.pid} ${url}\n`);
    return next(url, context);
  },
});
