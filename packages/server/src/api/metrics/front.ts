import { Counter, Gauge, type Registry } from "prom-client";
import type { Front } from "../front.ts";

/** What stands before the app: connections, and the certificate where there is one. */
export function registerFront(
  register: Registry,
  { certificate, connections }: Pick<Front, "certificate" | "connections">,
) {
  const registers = [register];
  new Gauge({
    name: "outrider_connections_open",
    help: "Connections of clients and workers.",
    registers,
    collect() {
      this.set(connections.count);
    },
  });
  new Counter({
    name: "outrider_connections_closed_total",
    help: "Connections that there were too many of: idle ones closed for others, and new ones refused.",
    labelNames: ["which"],
    registers,
    collect() {
      this.reset();
      for (const [which, count] of Object.entries(connections.closed)) this.inc({ which }, count);
    },
  });
  new Gauge({
    name: "outrider_certificate_expires_timestamp_seconds",
    help: "When the certificate that is shown runs out; absent where this server speaks plain HTTP.",
    registers,
    collect() {
      // It would be 0 where there is no certificate: one that ran out in 1970.
      this.remove();
      if (certificate) this.set(certificate.current().until.getTime() / 1_000);
    },
  });
  new Counter({
    name: "outrider_certificate_reload_failures_total",
    help: "How often a changed certificate was not used, or our own was not renewed.",
    registers,
    collect() {
      this.reset();
      this.inc(certificate?.failures() ?? 0);
    },
  });
}
