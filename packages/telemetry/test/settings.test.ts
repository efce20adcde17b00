import { expect, test } from "vitest";
import { readTelemetrySettings } from "../src/settings.ts";

const read = (variables: Record<string, string>) => readTelemetrySettings((name) => variables[name]);
const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" };

test("nothing is exported unless an endpoint is set", () => {
  expect(read({})).toBeUndefined();
  expect(read({ OTEL_SERVICE_NAME: "outrider", OTEL_TRACES_EXPORTER: "otlp" })).toBeUndefined();
  expect(read({ ...endpoint, OTEL_SDK_DISABLED: "true" })).toBeUndefined();
  const none = { OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none", OTEL_LOGS_EXPORTER: "none" };
  expect(read({ ...endpoint, ...none })).toBeUndefined();
});

test("an endpoint exports all signals, and a signal can have its own settings", () => {
  expect(
    read({
      ...endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20x, tenant=a",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://traces.example/custom",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "tenant=b",
      OTEL_EXPORTER_OTLP_TIMEOUT: "500",
      OTEL_LOGS_EXPORTER: "none",
      OTEL_RESOURCE_ATTRIBUTES: "service.name=ignored,region=eu",
      OTEL_SERVICE_NAME: "agents",
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.25",
      OUTRIDER_TRACE_HOSTS: "llm.internal, *.svc",
    }),
  ).toEqual({
    traces: {
      url: "https://traces.example/custom",
      headers: { authorization: "Bearer x", tenant: "b" },
      timeoutMs: 500,
      compression: "none",
      delayMs: 5_000,
      maxQueue: 2_048,
      sampler: { name: "parentbased_traceidratio", ratio: 0.25 },
    },
    metrics: {
      url: "http://collector:4318/v1/metrics",
      headers: { authorization: "Bearer x", tenant: "a" },
      timeoutMs: 500,
      compression: "none",
      intervalMs: 60_000,
    },
    serviceName: "agents",
    resourceAttributes: { region: "eu" },
    propagationHosts: ["llm.internal", "*.svc"],
  });
});

test("an invalid variable is rejected with its name", () => {
  const messageOf = (variables: Record<string, string>) => {
    try {
      return read({ ...endpoint, ...variables });
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(messageOf({ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" })).toBe(
    "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf.",
  );
  expect(messageOf({ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" })).toBe(
    "OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL.",
  );
  expect(messageOf({ OTEL_TRACES_EXPORTER: "zipkin" })).toBe("OTEL_TRACES_EXPORTER must be otlp or none.");
  expect(messageOf({ OTEL_TRACES_SAMPLER_ARG: "2" })).toBe(
    "OTEL_TRACES_SAMPLER_ARG must be between 0 and 1.",
  );
  expect(messageOf({ OTEL_BSP_SCHEDULE_DELAY: "soon" })).toBe(
    "OTEL_BSP_SCHEDULE_DELAY must be a whole number above 0.",
  );
  expect(messageOf({ OTEL_EXPORTER_OTLP_HEADERS: "token" })).toBe(
    "OTEL_EXPORTER_OTLP_HEADERS must contain pairs such as name=value, separated by commas.",
  );
});
