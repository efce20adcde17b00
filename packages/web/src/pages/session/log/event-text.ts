import type { RunEvent } from "@outrider/sdk";

const LINE = 96;

/** Returns an event's text, for searching and for estimating its size. */
export function textOf(event: RunEvent): string {
  switch (event.type) {
    case "run.created":
      return event.data.prompt;
    case "message.user":
    case "message.agent":
    case "reasoning":
    case "command.output":
      return event.data.text;
    case "run.succeeded":
      return event.data.text ?? "";
    case "run.blocked":
      return event.data.question;
    case "run.failed":
      return event.data.status_message.message;
    case "run.recovering":
      return event.data.reason;
    case "command.started":
      return event.data.command;
    case "file.changed":
      return `${event.data.path}\n${event.data.patch}`;
    case "tool.called":
      return `${event.data.tool}\n${JSON.stringify(event.data.input) ?? ""}`;
    case "tool.returned":
      return event.data.output;
    case "plan.updated":
      return event.data.steps.map(({ text }) => text).join("\n");
    case "artifact.added":
      return event.data.name;
    case "environment.step":
      return `${event.data.name}\n${event.data.detail ?? ""}\n${event.data.output ?? ""}`;
    case "compacted":
      return event.data.summary;
    case "branch.pushed":
      return `${event.data.branch} ${event.data.commit}`;
    case "pull_request.opened":
    case "pull_request.updated":
      return `#${event.data.number} ${event.data.title ?? ""} ${event.data.branch}`;
    case "notice":
      return `${event.data.message ?? ""} ${event.data.code ?? ""}`;
    default:
      return "";
  }
}

/** Estimates how many lines the event needs on a wide screen. */
export function linesOf(event: RunEvent): number {
  const text = textOf(event);
  let lines = 1;
  let begin = 0;
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", begin)) {
    lines += 1 + Math.floor((end - begin) / LINE);
    begin = end + 1;
  }
  return lines + Math.floor((text.length - begin) / LINE);
}
