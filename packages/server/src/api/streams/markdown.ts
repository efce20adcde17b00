import type { RunEvent } from "@outrider/contract/event";
import type { RunItem } from "@outrider/contract/run";
import type { SharedEvent, SharedRun } from "@outrider/contract/shares/shared-view";

/** Formats a transcript as Markdown. Text from agents and commands is quoted or fenced, so it cannot become markup. */

export function formatHeader({
  title,
  run_id,
  state,
  created_at,
  creator,
  agent_config,
}: RunItem | SharedRun): string {
  const parts = [
    `Run \`${run_id}\``,
    ...(agent_config.name === undefined ? [] : [`named ${oneLine(agent_config.name)}`]),
    `state ${state}`,
    `created by ${creator.display_name} at ${created_at}`,
    `model \`${agent_config.model_id}\``,
  ];
  return `# ${oneLine(title)}\n\n${parts.join(" · ")}\n`;
}

export function formatEvent(event: RunEvent | SharedEvent): string {
  switch (event.type) {
    case "run.created":
      return section("Prompt", quote(event.data.prompt));
    case "run.claimed":
      return note(
        `Claimed by ${"worker" in event.data ? `worker ${event.data.worker}` : "a worker"} (attempt ${event.attempt})`,
      );
    case "run.started":
      return note(`Started with model ${event.data.model_id}`);
    case "run.recovering":
      return note(`Recovering: ${event.data.reason}`);
    case "run.blocked":
      return section("Question", quote(event.data.question));
    case "run.succeeded":
      return note("Succeeded");
    case "run.failed": {
      const { message, error_code } = event.data.status_message;
      return section(`Failed: ${error_code}`, quote(message));
    }
    case "run.cancelled":
      return note(`Cancelled by ${event.data.by.display_name}`);
    case "run.reopened":
      return note(`Turn ${event.turn}`);
    case "environment.step": {
      const detail = "detail" in event.data && event.data.detail ? ` (${event.data.detail})` : "";
      const step = note(`${event.data.name}: ${event.data.state}${detail}`);
      return "output" in event.data && event.data.output ? `${step}\n${fence(event.data.output)}\n` : step;
    }
    case "message.user":
      return section("Follow-up", quote(event.data.text));
    case "message.agent":
      return section("Agent", quote(event.data.text));
    case "reasoning":
      return section("Reasoning", quote(event.data.text));
    case "command.started":
      return section(
        event.data.background ? `Command ${event.data.command_id}, background` : "Command",
        fence(event.data.command, "sh"),
      );
    case "command.output":
      return `\n${fence(event.data.text)}\n`;
    case "command.finished": {
      const { exit_code, duration_ms, timed_out } = event.data;
      const end = timed_out ? "timed out" : exit_code === undefined ? "killed" : `exit code ${exit_code}`;
      return note(`${end}, ${Math.round(duration_ms)} ms`);
    }
    case "file.changed":
      return section(`File ${event.data.kind}: ${oneLine(event.data.path)}`, fence(event.data.patch, "diff"));
    case "tool.called":
      return section(
        `Tool ${oneLine(event.data.tool)}`,
        fence(JSON.stringify(event.data.input, null, 2), "json"),
      );
    case "tool.returned":
      return `\n${fence(event.data.output)}\n`;
    case "plan.updated":
      return section(
        "Plan",
        event.data.steps
          .map(({ text, state }) => `- [${state === "done" ? "x" : " "}] ${oneLine(text)}`)
          .join("\n"),
      );
    case "artifact.added":
      return note(`Artifact: ${event.data.name} (${event.data.size_bytes} bytes)`);
    case "branch.pushed":
      return note(`Pushed ${event.data.commit.slice(0, 10)} to ${event.data.branch}`);
    case "pull_request.opened":
    case "pull_request.updated": {
      const { number, state } = event.data;
      const verb = event.type === "pull_request.opened" ? "Opened" : "Updated";
      const url = "url" in event.data ? `: ${event.data.url}` : "";
      return note(`${verb} pull request #${number} (${state})${url}`);
    }
    case "compacted":
      return section("Summary of the conversation so far", quote(event.data.summary));
    case "notice":
      if ("message" in event.data) return note(event.data.message);
      return event.data.code ? note(`Notice: ${event.data.code}`) : "";
    case "usage.updated":
      return "";
  }
}

function section(heading: string, body: string): string {
  return `\n## ${heading}\n\n${body}\n`;
}

function note(text: string): string {
  return `\n*${oneLine(text)}*\n`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function quote(text: string): string {
  return text
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
}

/** Encloses text in a fence that is longer than any fence in the text, so that the text cannot close it. */
function fence(text: string, language = ""): string {
  const longest = (text.match(/`+/g) ?? []).reduce((max, { length }) => Math.max(max, length), 2);
  const marks = "`".repeat(longest + 1);
  return `${marks}${language}\n${text.replace(/\n$/, "")}\n${marks}`;
}
