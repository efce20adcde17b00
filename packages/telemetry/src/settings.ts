/**
 * Reads the standard variables of OpenTelemetry: where telemetry goes, and which signals are exported.
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 *
 * A signal is exported if an endpoint is set for it. Unlike in the specification, nothing is sent to localhost by default.
 */

export type Signal = "traces" | "metrics" | "logs";

export interface ExporterSettings {
  url: string;
  headers: Record<string, string>;
  timeoutMs: number;
  compression: "gzip" | "none";
}

export interface SamplerSettings {
  name: (typeof samplers)[number];
  ratio: number;
}

/** Plain data, so that it can be sent to another process. */
export interface TelemetrySettings {
  traces?: ExporterSettings & { delayMs: number; maxQueue: number; sampler: SamplerSettings };
  metrics?: ExporterSettings & { intervalMs: number };
  logs?: ExporterSettings & { delayMs: number; maxQueue: number };
  serviceName?: string;
  resourceAttributes: Record<string, string>;
  /** Hosts of models and MCP servers that get the trace context, such as `llm.internal` or `*.svc`. */
  propagationHosts: string[];
}

const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

type Variable = (name: string) => string | undefined;

/** Returns undefined if nothing is exported. Throws if a variable is not valid. */
export function readTelemetrySettings(environment: Variable): TelemetrySettings | undefined {
  const read: Variable = (name) => environment(name)?.trim() || undefined;
  if (read("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return undefined;
  const traces = readExporter(read, "traces");
  const metrics = readExporter(read, "metrics");
  const logs = readExporter(read, "logs");
  if (!traces && !metrics && !logs) return undefined;
  const { "service.name": named, ...resourceAttributes } = readPairs(read, "OTEL_RESOURCE_ATTRIBUTES");
  const serviceName = read("OTEL_SERVICE_NAME") ?? named;
  const batch = (prefix: "OTEL_BSP" | "OTEL_BLRP", delayMs: number) => ({
    delayMs: readNumber(read, `${prefix}_SCHEDULE_DELAY`, delayMs),
    maxQueue: readNumber(read, `${prefix}_MAX_QUEUE_SIZE`, 2_048),
  });
  return {
    ...(traces ? { traces: { ...traces, ...batch("OTEL_BSP", 5_000), sampler: readSampler(read) } } : {}),
    ...(metrics
      ? { metrics: { ...metrics, intervalMs: readNumber(read, "OTEL_METRIC_EXPORT_INTERVAL", 60_000) } }
      : {}),
    ...(logs ? { logs: { ...logs, ...batch("OTEL_BLRP", 1_000) } } : {}),
    ...(serviceName ? { serviceName } : {}),
    resourceAttributes,
    propagationHosts: (read("OUTRIDER_TRACE_HOSTS") ?? "").split(",").flatMap((host) => host.trim() || []),
  };
}

function readExporter(read: Variable, signal: Signal): ExporterSettings | undefined {
  const name = signal.toUpperCase();
  const exporter = read(`OTEL_${name}_EXPORTER`) ?? "otlp";
  if (exporter === "none") return undefined;
  const prefix = "OTEL_EXPORTER_OTLP";
  const own = read(`${prefix}_${name}_ENDPOINT`);
  const shared = read(`${prefix}_ENDPOINT`);
  const endpoint = own ?? shared;
  if (endpoint === undefined) return undefined;
  if (exporter !== "otlp") throw new Error(`OTEL_${name}_EXPORTER must be otlp or none.`);
  const either = (option: string) => {
    const variable = `${prefix}_${name}_${option}`;
    return read(variable) === undefined ? `${prefix}_${option}` : variable;
  };
  const protocol = read(either("PROTOCOL")) ?? "http/protobuf";
  if (protocol !== "http/protobuf") throw new Error(`${either("PROTOCOL")} must be http/protobuf.`);
  const compression = read(either("COMPRESSION")) ?? "none";
  if (compression !== "gzip" && compression !== "none")
    throw new Error(`${either("COMPRESSION")} must be gzip or none.`);
  return {
    url: readUrl(either("ENDPOINT"), own ?? `${endpoint.replace(/\/+$/, "")}/v1/${signal}`),
    headers: { ...readPairs(read, `${prefix}_HEADERS`), ...readPairs(read, `${prefix}_${name}_HEADERS`) },
    timeoutMs: readNumber(read, either("TIMEOUT"), 10_000),
    compression,
  };
}

function readUrl(variable: string, text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text;
  throw new Error(`${variable} must be an http or https URL.`);
}

/** Reads pairs such as `key=value,other=value`, whose values are percent-encoded. */
function readPairs(read: Variable, variable: string): Record<string, string> {
  const pairs = (read(variable) ?? "").split(",").filter((pair) => pair.trim() !== "");
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
      if (name === undefined || value === undefined)
        throw new Error(`${variable} must contain pairs such as name=value, separated by commas.`);
      return [name, decode(value)];
    }),
  );
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function readNumber(read: Variable, variable: string, defaultValue: number): number {
  const text = read(variable) ?? String(defaultValue);
  if (!/^\d{1,9}$/.test(text) || Number(text) === 0)
    throw new Error(`${variable} must be a whole number above 0.`);
  return Number(text);
}

function readSampler(read: Variable): SamplerSettings {
  const text = read("OTEL_TRACES_SAMPLER") ?? "parentbased_always_on";
  const name = samplers.find((known) => known === text);
  if (!name) throw new Error(`OTEL_TRACES_SAMPLER must be one of: ${samplers.join(", ")}.`);
  const ratio = Number(read("OTEL_TRACES_SAMPLER_ARG") ?? "1");
  if (!(ratio >= 0 && ratio <= 1)) throw new Error("OTEL_TRACES_SAMPLER_ARG must be between 0 and 1.");
  return { name, ratio };
}
