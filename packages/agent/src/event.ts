import type { NewEvent } from "@outrider/contract/event";

/** The events that an agent can emit. */
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

/** An event in the run's log. Events emitted by the current turn have no sequence number yet. */
export type LogEvent = NewEvent & { seq?: number };
