import { Counter, Gauge, type Registry } from "prom-client";

/** Creates metrics whose values are read on each scrape instead of being updated. */
export function metricReaders(register: Registry) {
  const registers = [register];
  return {
    gauge(name: string, help: string, read: () => number) {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    },
    counter(name: string, help: string, read: () => number) {
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    },
    /** Creates a counter with one label. `read` returns a count for each label value. */
    labeledCounter(name: string, help: string, label: string, read: () => Record<string, number>) {
      new Counter({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          this.reset();
          for (const [value, count] of Object.entries(read())) this.inc({ [label]: value }, count);
        },
      });
    },
  };
}
