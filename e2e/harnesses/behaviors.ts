import { expect, vi } from "vitest";
import {
  type Event,
  longSleep,
  outputOf,
  processesWith,
  waitForSleep,
} from "../../packages/worker/test/installation.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import type { HarnessInstallation } from "./installation.ts";
import { searchCommand } from "./search.ts";

/** What every agent must do in a run. The name is the title of a column in the docs. */
export interface Behavior {
  name: string;
  /** Whether it can run at the same time as its neighbors. */
  isParallel?: true;
  test(installation: HarnessInstallation): Promise<void>;
}

/** Agents refuse a command that only sleeps. */
function sleepCommand() {
  const { command, mark } = longSleep();
  return { command: `echo asleep; ${command}`, mark };
}

const dataOf = (events: Event[], type: string) =>
  events.filter((event) => event.type === type).map(({ data }) => data);

const isStarted =
  (command: string) =>
  ({ type, data }: Event) =>
    type === "command.started" && data.command.includes(command);

/** Creates a run and waits for its end. The result is shared by several behaviors. */
async function firstRun(installation: HarnessInstallation): Promise<{ run: string; events: Event[] }> {
  const run = await installation.create(
    [
      "RUN: echo hello from the agent; sleep 0.5; echo goodbye; exit 3",
      "WRITE: /workspace/notes.txt | written by the agent",
      ...(installation.supportsMcp ? ['CALL: probe__ping {"word":"marco"}'] : []),
      "SAY: All done.",
    ],
    installation.supportsMcp ? { config: installation.config({ mcp_servers: { probe: mcpServer } }) } : {},
  );
  await installation.until(run, "SUCCEEDED");
  return { run, events: await installation.events(run) };
}

const first = new WeakMap<HarnessInstallation, ReturnType<typeof firstRun>>();

function getFirst(installation: HarnessInstallation): ReturnType<typeof firstRun> {
  const run = first.get(installation) ?? firstRun(installation);
  first.set(installation, run);
  return run;
}

/** A stdio server that needs nothing but bash. */
const mcpServer = {
  command: "bash",
  args: [
    "-c",
    `while read -r line; do
      id=$(sed -E 's/.*"id":([0-9]+).*/\\1/' <<< "$line")
      reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$1"; }
      case "$line" in
        *'"initialize"'*) reply '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"probe","version":"1"}}' ;;
        *'"tools/list"'*) reply '{"tools":[{"name":"ping","description":"Answers with polo.","inputSchema":{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}}]}' ;;
        *'"tools/call"'*) reply '{"content":[{"type":"text","text":"polo"}]}' ;;
      esac
    done`,
  ],
};

const command: Behavior = {
  name: "Command with exit code",
  async test(installation) {
    const { run, events } = await getFirst(installation);
    const started = dataOf(events, "command.started").find((data) => data.command.includes("hello from"));
    expect(started).toBeDefined();
    const { command_id } = started;
    expect(outputOf(events, command_id)).toMatch(/hello from the agent\s+goodbye/);
    const finished = dataOf(events, "command.finished").find((data) => data.command_id === command_id);
    expect(finished).toMatchObject({ exit_code: 3, duration_ms: expect.any(Number) });
    expect(dataOf(events, "message.agent").at(-1)?.text).toContain("All done.");
    const { receipt, usage } = await installation.get(run);
    expect(receipt.harness).toMatchObject({ name: installation.harness, version: expect.any(String) });
    // The agent calls its model for nothing else, such as a title of its session.
    expect(usage.steps).toBe(installation.supportsMcp ? 4 : 3);
  },
};

const edit: Behavior = {
  name: "File edit",
  async test(installation) {
    const { run, events } = await getFirst(installation);
    expect(dataOf(events, "file.changed")).toContainEqual(
      expect.objectContaining({ path: expect.stringMatching(/notes\.txt$/), kind: "created" }),
    );
    const diff = await installation.call("GET", `/agent/runs/${run}/diff`);
    expect(diff.text).toContain("+written by the agent");
  },
};

const mcp: Behavior = {
  name: "MCP tool",
  async test(installation) {
    const { events } = await getFirst(installation);
    const called = dataOf(events, "tool.called").find((data) => /ping$/.test(data.tool));
    expect(called?.input).toMatchObject({ word: "marco" });
    const returned = dataOf(events, "tool.returned").find((data) => data.call_id === called.call_id);
    expect(returned?.output).toContain("polo");
    expect(returned).not.toHaveProperty("is_error");
  },
};

const followUpAfterEnd: Behavior = {
  name: "Follow-up after the end",
  isParallel: true,
  async test(installation) {
    const { run, events: before } = await getFirst(installation);
    await installation.followUp(run, ["RUN: cat /workspace/notes.txt", "SAY: Read it."]);
    const item = await installation.until(run, "SUCCEEDED");
    expect(item).toMatchObject({ turns: 2, attempts: 1 });
    const events = await installation.events(run);
    const later = events.slice(before.length);
    expect(outputOf(later)).toContain("written by the agent");
    // The agent's session continued, and its history is not in the log again.
    expect(dataOf(later, "command.started")).toHaveLength(1);
    expect(dataOf(later, "notice").map(({ code }) => code)).not.toContain("session_restarted");
    expect(dataOf(later, "message.agent").at(-1)?.text).toContain("Read it.");
  },
};

const followUpWhileBusy: Behavior = {
  name: "Follow-up while busy",
  isParallel: true,
  async test(installation) {
    // Agents refuse a command that begins with a long sleep.
    const run = await installation.create(["RUN: echo asleep; sleep 3; echo slept", "SAY: First done."]);
    await installation.event(run, isStarted("sleep 3"));
    await installation.followUp(run, ["RUN: echo steered", "SAY: Second done."], { mode: "auto" });
    const item = await installation.until(run, "SUCCEEDED");
    const events = await installation.events(run);
    expect(outputOf(events)).toContain("steered");
    expect(dataOf(events, "message.agent").at(-1)?.text).toContain("Second done.");
    // It is part of the same turn.
    expect(item.turns).toBe(1);
  },
};

const interrupt: Behavior = {
  name: "Interrupt",
  isParallel: true,
  async test(installation) {
    const { command: sleep, mark } = sleepCommand();
    const run = await installation.create([`RUN: ${sleep}`, "SAY: Never said."]);
    await waitForSleep(mark);
    await installation.event(run, isStarted(mark));
    await installation.followUp(run, ["RUN: echo interrupted", "SAY: Stopped."], { mode: "interrupt" });
    const item = await installation.until(run, "SUCCEEDED");
    expect(item.turns).toBe(1);
    expect(processesWith(mark)).toEqual([]);
    const events = await installation.events(run);
    expect(outputOf(events)).toContain("interrupted");
    const [started, finished] = ["command.started", "command.finished"].map((type) => dataOf(events, type));
    expect(finished?.map(({ command_id }) => command_id).sort()).toEqual(
      started?.map(({ command_id }) => command_id).sort(),
    );
    expect(dataOf(events, "message.agent").at(-1)?.text).toContain("Stopped.");
  },
};

const cancel: Behavior = {
  name: "Cancel during a command",
  isParallel: true,
  async test(installation) {
    const { command: sleep, mark } = sleepCommand();
    const run = await installation.create([`RUN: ${sleep}`]);
    await waitForSleep(mark);
    expect((await installation.call("POST", `/agent/runs/${run}/cancel`)).status).toBe(200);
    await installation.until(run, "CANCELLED");
    await vi.waitUntil(() => processesWith(mark).length === 0, waitOptions);
    // The run can continue.
    await installation.followUp(run, ["RUN: echo continued", "SAY: Continued."]);
    await installation.until(run, "SUCCEEDED");
    expect(outputOf(await installation.events(run))).toContain("continued");
  },
};

const budget: Behavior = {
  name: "Budget stop",
  isParallel: true,
  async test(installation) {
    const config = installation.config({ model_id: installation.upstream.modelId });
    // The provider counts words, so each of these commands costs about a dollar.
    const words = "word ".repeat(400);
    const script = Array.from({ length: 12 }, (_, count) => `RUN: echo ${count + 1} ${words}`);
    const run = await installation.create(script, { config, limits: { max_cost_usd: 4 } });
    const { status_message, usage } = await installation.until(run, "FAILED");
    expect(status_message.error_code).toBe("budget_exceeded");
    expect(usage.cost_usd).toBeGreaterThan(2);
    expect(usage.cost_usd).toBeLessThan(5.5);
    const events = await installation.events(run);
    const commands = dataOf(events, "command.finished").length;
    expect(commands).toBeGreaterThan(0);
    expect(commands).toBeLessThan(6);
    expect(dataOf(events, "notice").map(({ code }) => code)).toContain("budget_exceeded");
  },
};

const noKeys: Behavior = {
  name: "No provider key in the sandbox",
  isParallel: true,
  async test(installation) {
    const { upstream, key } = installation;
    const base_prompt = "Answer in the style of a lighthouse keeper.";
    const config = installation.config({ model_id: upstream.modelId, base_prompt });
    const marker = `marker-${Math.random().toString(36).slice(2)}-of-this-run`;
    // The text of the file is not in the command, which the provider gets in any case.
    const guide = "printf 'Keep the %s lit.' lamp > AGENTS.md";
    const run = await installation.create(
      [`Remember ${marker}.`, `RUN: ${guide}; ${searchCommand([key, installation.workerKey, marker])}`],
      { config },
    );
    await installation.until(run, "SUCCEEDED");
    // The provider, which requires the key, got the instructions and the prompt.
    const [request] = upstream.requests.filter((body) => body.includes(marker) && body.includes(base_prompt));
    expect(request).toBeDefined();
    const events = await installation.events(run);
    const found = outputOf(events);
    // The search finds what the agent knows.
    expect(found).toContain("found 2 in memory");
    expect(found).toContain("looked at memory and files");
    expect(found).not.toMatch(/found [01] /);
    expect(JSON.stringify(events)).not.toContain(key);
    expect(installation.workerOutput()).not.toContain(key);
    await installation.followUp(run, ["SAY: Continued."]);
    await installation.until(run, "SUCCEEDED");
    // The agent reads the file when its process starts.
    expect(upstream.requests.some((body) => body.includes("Keep the lamp lit."))).toBe(true);
  },
};

/** The last one, because it kills the worker. */
const recovery: Behavior = {
  name: "Recovery after the worker is killed",
  async test(installation) {
    const config = installation.config({ idle_timeout_minutes: 0 });
    const run = await installation.create(["RUN: echo one >> /workspace/log"], { config });
    await installation.until(run, "SUCCEEDED");
    await installation.followUp(run, [
      "RUN: echo two >> /workspace/log",
      "SLEEP: 5000",
      "RUN: cat /workspace/log",
      "SAY: Recovered.",
    ]);
    const isSecond = ({ turn, type }: Event) => turn === 2 && type === "command.finished";
    await installation.event(run, isSecond);
    await installation.replaceWorker();
    await installation.expireLease(run);
    const item = await installation.until(run, "SUCCEEDED");
    expect(item).toMatchObject({ turns: 2, attempts: 2, receipt: { worker: "second" } });
    const events = await installation.events(run);
    const later = events.filter(({ turn, attempt }) => turn === 2 && attempt === 2);
    expect(outputOf(later)).toContain("one");
    expect(dataOf(later, "message.agent").at(-1)?.text).toContain("Recovered.");
    // Nothing of the first turn is in the log again.
    const firsts = dataOf(events, "command.started").filter(({ command }) => command.includes("echo one"));
    expect(firsts).toHaveLength(1);
    if (installation.canLoadSessions)
      expect(dataOf(later, "notice").map(({ code }) => code)).not.toContain("session_restarted");
  },
};

/** Returns the version of the agent that executed the runs. */
export async function versionOf(installation: HarnessInstallation): Promise<string> {
  const { run } = await getFirst(installation);
  const { receipt } = await installation.get(run);
  return receipt.harness.version;
}

export const behaviors = {
  command,
  edit,
  mcp,
  followUpAfterEnd,
  followUpWhileBusy,
  interrupt,
  cancel,
  budget,
  noKeys,
  recovery,
} satisfies Record<string, Behavior>;
export type BehaviorName = keyof typeof behaviors;
