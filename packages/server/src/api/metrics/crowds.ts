import { Counter, Gauge, type Registry } from "prom-client";
import type { Room } from "../../engine/room.ts";
import type { Streams } from "../streams.ts";

interface Crowds {
  lists: Pick<Room, "standing">;
  bodies: Pick<Room, "standing">;
  streams: Pick<Streams, "refused">;
}

/** What there may be only so much of at once, so that the rest waits in line or is refused. */
export function registerCrowds(register: Registry, { lists, bodies, streams }: Crowds) {
  const registers = [register];
  const gauge = (name: string, help: string, look: () => number) =>
    new Gauge({
      name: `outrider_${name}`,
      help,
      registers,
      collect() {
        this.set(look());
      },
    });
  gauge("lists_running", "Lists of runs that the database is asked for.", () => lists.standing.used);
  gauge("lists_waiting", "Lists of runs that wait for others to be done.", () => lists.standing.waiting);
  gauge("body_bytes", "Large bodies of requests that are held.", () => bodies.standing.used);
  gauge("bodies_waiting", "Large bodies of requests that wait for room.", () => bodies.standing.waiting);
  new Counter({
    name: "outrider_crowded_total",
    help: "Calls that were refused because too much was under way at once, by what.",
    labelNames: ["what"],
    registers,
    collect() {
      this.reset();
      this.inc({ what: "lists" }, lists.standing.refused);
      this.inc({ what: "bodies" }, bodies.standing.refused);
      this.inc({ what: "streams" }, streams.refused);
    },
  });
}
