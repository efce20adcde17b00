import { type Refusal, tooMany, unavailable } from "./refusal.ts";
import { Room } from "./room.ts";

const RETRY_SECONDS = 5;

/**
 * Lists of runs and of events that one server asks its database for at once. A search of many words takes a while at a
 * million runs, and has a connection for as long: as many at once as there are connections would leave none for anybody
 * else. Pages of long events are read and written while everybody waits.
 */
export function openSearches(): Room {
  return new Room({ most: 16, mostEach: 4, waitMs: 10_000 }, { own, all });
}

function own(): Refusal {
  return tooMany(
    "As many lists of yours are under way as may be. Ask for one after the other.",
    RETRY_SECONDS,
  );
}

function all(): Refusal {
  return unavailable("Too many lists are asked for now. Try again in a moment.", RETRY_SECONDS);
}
