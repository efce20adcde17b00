import type { LoggedEvent } from "@outrider/contract/event";
import type { Assignment } from "@outrider/contract/worker";
import type { ServerClient } from "../server-client/server-client.ts";

/** Returns all of the run's events. If there are few, the assignment already contains them, unless it is stale. */
export async function readHistory(
  { history, has_more_history, execution_id }: Assignment,
  { server, signal, isStale }: { server: ServerClient; signal: AbortSignal; isStale: boolean },
): Promise<LoggedEvent[]> {
  if (!has_more_history && !isStale) return history;
  const events: LoggedEvent[] = [];
  for (let after = 0; ; ) {
    const page = await server.history(execution_id, after, signal);
    events.push(...page.events);
    if (!page.has_next_page) return events;
    after = events.at(-1)?.seq as number;
  }
}
