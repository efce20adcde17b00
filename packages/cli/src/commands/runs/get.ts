import type { RunItem } from "@outrider/sdk";
import { clientCommand, withClient } from "../../client-command.ts";
import { labelsText } from "../../input/labels.ts";
import { findRunId, RUN_ARGUMENT } from "../../input/run-id.ts";
import { bytes, pairs } from "../../terminal/format.ts";
import { usageLine } from "../../transcript/summary.ts";

/** The version is known once a worker has started the agent. */
function harnessText({ agent_config: { harness }, receipt }: RunItem): string | undefined {
  const version = receipt?.harness?.version;
  return harness && version ? `${harness} ${version}` : harness;
}

export const getCommand = clientCommand("get", "Show a run.")
  .alias("view")
  .argument("<run>", RUN_ARGUMENT)
  .action(
    withClient(async ({ client, out }, given) => {
      const run = await client.runs.get(await findRunId(client, given as string));
      const { agent_config: config, queue, status_message: status } = run;
      out.item({
        document: run,
        id: run.run_id,
        fields: [
          ["run", run.run_id],
          ["title", run.title],
          ["state", run.state === "INPROGRESS" ? `${run.state} (${run.phase})` : run.state],
          ["queue", queue && `${queue.position}.${queue.reason ? ` ${queue.reason}` : ""}`],
          ["waits for", queue?.detail],
          [run.state === "BLOCKED" ? "question" : "message", status?.message],
          ["remedy", status?.remedy],
          ["name", config.name],
          ["model", config.model_id],
          ["reasoning effort", config.reasoning_effort],
          ["harness", harnessText(run)],
          ["environment", config.environment_id],
          ["sandbox", sandboxText(run)],
          ["worker pool", config.worker_host],
          ["worker labels", config.worker_selector && labelsText(config.worker_selector)],
          ["skill", config.skill_spec],
          ["mcp", config.mcp_servers && Object.keys(config.mcp_servers).join(", ")],
          ["creator", `${run.creator.display_name} (${run.source})`],
          ["created", run.created_at],
          ["started", run.started_at],
          ["finished", run.finished_at],
          ["turns", run.turns > 1 ? String(run.turns) : undefined],
          ["usage", usageLine(run)],
          ["limits", run.limits && pairs(run.limits)],
          ["metadata", run.metadata && pairs(run.metadata)],
          [
            "pull requests",
            run.pull_requests?.map(({ url, state, branch }) => `${url} (${state}, ${branch})`).join("\n"),
          ],
          [
            "artifacts",
            run.artifacts
              ?.filter(({ artifact_type }) => artifact_type !== "PULL_REQUEST")
              .map(({ artifact_id, name, size_bytes }) => `${artifact_id}  ${name} (${bytes(size_bytes)})`)
              .join("\n"),
          ],
          ["output", run.output === undefined ? undefined : JSON.stringify(run.output, null, 2)],
          ["link", run.session_link],
          ["shared until", run.share?.expires_at],
        ],
      });
    }),
  );

/** Returns what ran the sandbox, and until then what the run asks for. */
function sandboxText({ receipt, agent_config }: RunItem): string | undefined {
  if (!receipt?.sandbox) return agent_config.sandbox;
  const { kind, engine, engine_version, runtime } = receipt.sandbox;
  const details = [engine && [engine, engine_version].filter(Boolean).join(" "), runtime].filter(Boolean);
  return details.length > 0 ? `${kind} (${details.join(", ")})` : kind;
}
