import { Counter, Gauge, type Registry } from "prom-client";

/** Metrics that look when they are scraped: the figure itself is kept by whoever has it. */
export function lookingInto(register: Registry) {
  const registers = [register];
  return {
    gauge(name: string, help: string, look: () => number) {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(look());
        },
      });
    },
    counter(name: string, help: string, look: () => number) {
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(look());
        },
      });
    },
    /** One for each value of a label. */
    counters(name: string, help: string, label: string, look: () => Record<string, number>) {
      new Counter({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          this.reset();
          for (const [value, count] of Object.entries(look())) this.inc({ [label]: value }, count);
        },
      });
    },
  };
}
