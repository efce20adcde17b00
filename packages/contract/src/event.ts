import { z } from "zod";
import { FollowupMode } from "./followup.ts";
import { PageInfo, RunCreatorInfo, RunSourceType } from "./run.ts";
import { Timestamp, Uuid } from "./text.ts";

/**
 * One numbered line of a run's transcript. Every fact about a run is an event; the union is closed. Types join it
 * when something writes them.
 */
const data = {
  "run.created": z.object({
    title: z.string(),
    prompt: z.string(),
    source: RunSourceType,
    creator: RunCreatorInfo,
  }),
  "run.cancelled": z.object({ by: RunCreatorInfo }),
  "run.reopened": z.object({ followup_id: Uuid, mode: FollowupMode, by: RunCreatorInfo }),
};

export type EventType = keyof typeof data;
export type EventData<T extends EventType> = z.infer<(typeof data)[T]>;

const envelope = {
  run_id: Uuid,
  seq: z.int().min(1).meta({ description: "From 1, without gaps." }),
  created_at: Timestamp,
  turn: z.int().min(1),
  attempt: z.int().min(0),
};

function variant<T extends EventType>(type: T) {
  const id = `${type.replace(/(^|\.)(\w)/g, (_, __, letter: string) => letter.toUpperCase())}Event`;
  return z.object({ ...envelope, type: z.literal(type), data: data[type] }).meta({ id });
}

export const RunEvent = z
  .discriminatedUnion("type", [variant("run.created"), variant("run.cancelled"), variant("run.reopened")])
  .meta({ id: "RunEvent", description: "One numbered line of a run's transcript." });
export type RunEvent = z.infer<typeof RunEvent>;

export const ListEventsResponse = z
  .object({ events: z.array(RunEvent), page_info: PageInfo })
  .meta({ id: "ListEventsResponse", description: "`next_cursor` is the `after` of the next page." });
