import type { NewEvent } from "@outrider/contract/event";

/** The part that an agent writes. */
export type AgentEvent = Extract<
  NewEvent,
  {
    type:
      | "run.started"
      | "message.agent"
      | "reasoning"
      | "command.started"
      | "command.output"
      | "command.finished"
      | "file.changed"
      | "tool.called"
      | "tool.returned"
      | "plan.updated"
      | "usage.updated"
      | "compacted"
      | "notice";
  }
>;

/** An event as the log holds it; the agent's own have no number yet. */
export type LogEvent = NewEvent & { seq?: number };

/** PostgreSQL stores neither NUL nor half a surrogate pair, and both come out of commands and models. */
export function storable<E extends AgentEvent>(event: E): E {
  const text = JSON.stringify(event, (_, value) =>
    typeof value === "string" ? value.replaceAll("\0", "\ufffd").toWellFormed() : value,
  );
  return JSON.parse(text) as E;
}
