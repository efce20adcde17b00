import { Gauge, type Registry } from "prom-client";
import type { Front } from "../front.ts";
import { lookingInto } from "./looking.ts";

/** What stands before the app: connections, and the certificate where there is one. */
export function registerFront(
  register: Registry,
  { certificate, connections }: Pick<Front, "certificate" | "connections">,
) {
  const { gauge, counter, counters } = lookingInto(register);
  gauge("outrider_connections_open", "Connections of clients and workers.", () => connections.count);
  counters(
    "outrider_connections_closed_total",
    "Connections that there were too many of: idle ones closed for others, and new ones refused.",
    "which",
    () => connections.closed,
  );
  new Gauge({
    name: "outrider_certificate_expires_timestamp_seconds",
    help: "When the certificate that is shown runs out; absent where this server speaks plain HTTP.",
    registers: [register],
    collect() {
      // It would be 0 where there is no certificate: one that ran out in 1970.
      this.remove();
      if (certificate) this.set(certificate.current().until.getTime() / 1_000);
    },
  });
  counter(
    "outrider_certificate_reload_failures_total",
    "How often a changed certificate was not used, or our own was not renewed.",
    () => certificate?.failures() ?? 0,
  );
}
