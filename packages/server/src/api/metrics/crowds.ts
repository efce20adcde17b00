import type { Registry } from "prom-client";
import type { Room } from "../../engine/room.ts";
import type { Streams } from "../streams.ts";
import { lookingInto } from "./looking.ts";

interface Crowds {
  lists: Pick<Room, "standing">;
  bodies: Pick<Room, "standing">;
  streams: Pick<Streams, "refused">;
}

/** What there may be only so much of at once, so that the rest waits in line or is refused. */
export function registerCrowds(register: Registry, { lists, bodies, streams }: Crowds) {
  const { gauge, counters } = lookingInto(register);
  gauge(
    "outrider_lists_running",
    "Lists of runs and pages of events that the database is asked for.",
    () => lists.standing.used,
  );
  gauge(
    "outrider_lists_waiting",
    "Lists of runs and pages of events that wait for others to be done.",
    () => lists.standing.waiting,
  );
  gauge("outrider_body_bytes", "Large bodies of requests that are held.", () => bodies.standing.used);
  gauge(
    "outrider_bodies_waiting",
    "Large bodies of requests that wait for room.",
    () => bodies.standing.waiting,
  );
  counters(
    "outrider_crowded_total",
    "Calls that were refused because too much was under way at once, by what.",
    "what",
    () => ({ lists: lists.standing.refused, bodies: bodies.standing.refused, streams: streams.refused }),
  );
}
