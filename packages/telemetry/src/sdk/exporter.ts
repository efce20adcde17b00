import type { ExporterSettings } from "../settings.ts";

/** How the exporters of this package's SDK report a result. */
interface ExportResult {
  /** 0 for success. */
  code: number;
  error?: Error;
}

interface Exporter<T> {
  export(items: T, onResult: (result: ExportResult) => void): void;
}

/** Concurrent requests of one exporter. Each holds a batch in memory until the collector answers. */
const CONCURRENT_REQUESTS = 4;

export function exporterOptions({ url, headers, timeoutMs, compression }: ExporterSettings) {
  return {
    url,
    headers,
    timeoutMillis: timeoutMs,
    concurrencyLimit: CONCURRENT_REQUESTS,
    compression: compression as never,
  };
}

/** Calls `onFailed` for each batch that could not be sent. The SDK itself only drops it. */
export function reportFailures<T, E extends Exporter<T>>(
  exporter: E,
  onFailed: (error: Error | undefined) => void,
): E {
  const send = exporter.export.bind(exporter);
  exporter.export = (items, onResult) =>
    send(items, (result) => {
      if (result.code !== 0) onFailed(result.error);
      onResult(result);
    });
  return exporter;
}
