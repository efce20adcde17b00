import { describe, expect, test } from "vitest";
import { readConfig } from "../src/config.ts";

describe("the configuration", () => {
  test("has defaults for a first start", () => {
    expect(readConfig({}, {})).toMatchObject({ host: "127.0.0.1", port: 4_000, logLevel: "info" });
  });

  test("reads variables, and flags before them", () => {
    const environment = { OUTRIDER_PORT: "5000", OUTRIDER_DATA_DIR: "/data" };
    expect(readConfig({}, environment)).toMatchObject({ port: 5_000, dataDir: "/data" });
    expect(readConfig({ port: "6000" }, environment)).toMatchObject({ port: 6_000 });
  });

  test("keeps everything unless it is told otherwise, by age and by size", () => {
    expect(readConfig({}, {}).retention).toEqual({
      runs: {},
      events: {},
      artifacts: {},
      files: {},
      builds: {},
    });
    const environment = { OUTRIDER_KEEP_EVENTS_DAYS: "90", OUTRIDER_KEEP_EVENTS_GB: "1.5" };
    expect(readConfig({}, environment).retention.events).toEqual({ days: 90, bytes: 1.5 * 1024 ** 3 });
  });

  test("bounds requests unless it is told otherwise, and dollars only if it is", () => {
    const usual = { requestsPerMinute: 6_000, creationsPerMinute: 600, failuresPerMinute: 600 };
    expect(readConfig({}, {}).quotas).toEqual(usual);
    const environment = { OUTRIDER_CREATIONS_PER_MINUTE: "5", OUTRIDER_MAX_COST_USD_PER_DAY: "12.5" };
    expect(readConfig({}, environment).quotas).toEqual({
      ...usual,
      creationsPerMinute: 5,
      maxCostUsdPerDay: 12.5,
    });
  });

  test.each([
    { OUTRIDER_TLS: "self-signed" },
    { OUTRIDER_TLS_CERT: "/c.pem", OUTRIDER_TLS_KEY: "/k.pem" },
    { OUTRIDER_PUBLIC_URL: "https://a.example", OUTRIDER_TRUST_PROXY: "10.0.0.0/8, fd00::/8" },
  ])("listens beyond this machine where %o keeps keys from travelling in the clear", (environment) => {
    expect(readConfig({}, { OUTRIDER_HOST: "0.0.0.0", ...environment })).toMatchObject({ host: "0.0.0.0" });
  });

  test.each([
    [{ OUTRIDER_HOST: "0.0.0.0" }, /OUTRIDER_HOST 0\.0\.0\.0 .*in clear text.*--tls-cert.*--trust-proxy/],
    [{ OUTRIDER_HOST: "::" }, /OUTRIDER_HOST/],
    [
      { OUTRIDER_DATABASE_CONNECTIONS: "5" },
      /OUTRIDER_DATABASE_CONNECTIONS must be a whole number from 6 to 1000/,
    ],
    [{ OUTRIDER_HOST: "0.0.0.0", OUTRIDER_PUBLIC_URL: "https://a.example" }, /in clear text/],
    [{ OUTRIDER_HOST: "0.0.0.0", OUTRIDER_TRUST_PROXY: "10.0.0.1" }, /in clear text/],
    [
      { OUTRIDER_HOST: "::", OUTRIDER_TRUST_PROXY: "10.0.0.1", OUTRIDER_PUBLIC_URL: "http://a.example" },
      /in clear text/,
    ],
    [
      { OUTRIDER_TRUST_PROXY: "10.0.0.0/33" },
      /OUTRIDER_TRUST_PROXY must be a comma-separated list of addresses.*10\.0\.0\.0\/33/,
    ],
    [{ OUTRIDER_TRUST_PROXY: "10.0.0.1,proxy.example" }, /`proxy\.example` is invalid/],
    [{ OUTRIDER_CORS_ORIGINS: "*" }, /OUTRIDER_CORS_ORIGINS must be .* without a path or wildcard; `\*`/],
    [{ OUTRIDER_CORS_ORIGINS: "https://a.example/" }, /`https:\/\/a\.example\/` is invalid/],
    [{ OUTRIDER_CORS_ORIGINS: "https://a.example,b.example" }, /`b\.example` is invalid/],
    [{ OUTRIDER_CORS_ORIGINS: "null" }, /`null` is invalid/],
    [{ OUTRIDER_CORS_ORIGINS: "https://A.example" }, /is invalid/],
    [{ OUTRIDER_TLS: "letsencrypt" }, /OUTRIDER_TLS must be self-signed.*OUTRIDER_TLS_CERT/],
    [{ OUTRIDER_TLS_CERT: "/a" }, /OUTRIDER_TLS_KEY is missing/],
    [{ OUTRIDER_TLS_KEY: "/a" }, /OUTRIDER_TLS_CERT is missing/],
    [{ OUTRIDER_TLS: "self-signed", OUTRIDER_TLS_KEY: "/a" }, /Choose one/],
    [{ OUTRIDER_MAX_CONNECTIONS: "0" }, /OUTRIDER_MAX_CONNECTIONS must be a whole number above 0/],
    [{ OUTRIDER_PORT: "http" }, /OUTRIDER_PORT must be a port number/],
    [{ OUTRIDER_PORT: "70000" }, /OUTRIDER_PORT/],
    [{ DATABASE_URL: "mysql://x" }, /DATABASE_URL must start with postgres/],
    [{ DATABASE_DIRECT_URL: "mysql://x" }, /DATABASE_DIRECT_URL must start with postgres/],
    [{ DATABASE_DIRECT_URL: "postgres://x" }, /DATABASE_DIRECT_URL is set without DATABASE_URL/],
    [{ OUTRIDER_MASTER_KEY: "c2hvcnQ=" }, /OUTRIDER_MASTER_KEY must be 32 bytes/],
    [{ OUTRIDER_PUBLIC_URL: "example.com" }, /OUTRIDER_PUBLIC_URL must be an http/],
    [{ OUTRIDER_LOG_LEVEL: "loud" }, /OUTRIDER_LOG_LEVEL/],
    [{ OUTRIDER_KEEP_EVENTS_DAYS: "0" }, /OUTRIDER_KEEP_EVENTS_DAYS must be a number above 0, or unset/],
    [{ OUTRIDER_KEEP_FILES_GB: "much" }, /OUTRIDER_KEEP_FILES_GB must be a number above 0/],
    [{ OUTRIDER_REQUESTS_PER_MINUTE: "0" }, /OUTRIDER_REQUESTS_PER_MINUTE must be a whole number above 0/],
    [
      { OUTRIDER_MAX_COST_USD_PER_DAY: "0" },
      /OUTRIDER_MAX_COST_USD_PER_DAY must be a number of dollars above 0/,
    ],
    [{ OUTRIDER_MIN_FREE_MB: "-1" }, /OUTRIDER_MIN_FREE_MB must be a number of megabytes/],
  ])("refuses %o with the variable and the remedy", (environment, message) => {
    expect(() => readConfig({}, environment)).toThrow(message);
  });
});
