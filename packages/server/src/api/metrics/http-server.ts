import { Gauge, type Registry } from "prom-client";
import type { HttpServer } from "../http/http-server.ts";
import { metricReaders } from "./metric-readers.ts";

/** Registers metrics for connections and for the certificate. */
export function registerHttpServer(
  register: Registry,
  { certificate, connections }: Pick<HttpServer, "certificate" | "connections">,
) {
  const { gauge, counter, labeledCounter } = metricReaders(register);
  gauge("outrider_connections_open", "Open connections from clients and workers.", () => connections.count);
  labeledCounter(
    "outrider_connections_closed_total",
    "Connections closed because a connection limit was reached: idle ones closed to admit new ones, and new ones refused.",
    "which",
    () => connections.closed,
  );
  new Gauge({
    name: "outrider_certificate_expires_timestamp_seconds",
    help: "Expiry time of the TLS certificate in use; absent without TLS.",
    registers: [register],
    collect() {
      // Without a certificate, the gauge must be absent: 0 would mean that the certificate expired in 1970.
      this.remove();
      if (certificate) this.set(certificate.current().validUntil.getTime() / 1_000);
    },
  });
  counter(
    "outrider_certificate_reload_failures_total",
    "Failed reloads of changed certificates and failed renewals of the self-signed one.",
    () => certificate?.failures() ?? 0,
  );
}
