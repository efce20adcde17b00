import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { longSleep, outputOf, processesWith, waitForSleep } from "../installation.ts";
import { node, respondAsMcp, startHttp } from "../mcp/mcp-support.ts";
import { git } from "../repositories/git-server.ts";
import {
  type AgentInstallation,
  also,
  call,
  dataOf,
  edit,
  modelIds,
  resultsIn,
  spokenIn,
  startAgentInstallation,
} from "./agent-support.ts";

/** Complete tasks on a repository of a git server, from the request to the final state and the diff. */

let installation: AgentInstallation;
let worker: Awaited<ReturnType<AgentInstallation["agentWorker"]>>;
let shop: ReturnType<AgentInstallation["repository"]>;
let environment_id: string;
/** A tool that responds when the test releases it. */
let gate: Awaited<ReturnType<typeof startHttp>>;
let opened = Promise.withResolvers<void>();
let reached = Promise.withResolvers<void>();

const parts = Array.from({ length: 10 }, (_, n) => `src/part${n}.mjs`);
const total = "export const total = (prices) => prices.reduce((sum, price) => sum - price, 0);\n";
const totalTest = `import assert from "node:assert";
import { test } from "node:test";
import { total } from "./total.mjs";
test("prices are added up", () => assert.equal(total([2, 3, 4]), 9));
`;

beforeAll(async () => {
  installation = await startAgentInstallation();
  gate = await startHttp(async (request, response) => {
    if (request.body.includes("tools/call")) {
      reached.resolve();
      await opened.promise;
    }
    respondAsMcp(request, response, () => "the gate is open");
  });
  worker = await installation.agentWorker(gate.port);
  shop = installation.repository("shop", {
    "total.mjs": total,
    "total.test.mjs": totalTest,
    "src/names.mjs": "export const greetOld = (name) => `hello ${name}`;\n",
    ...Object.fromEntries(
      parts.map((path, n) => [
        path.replace("shop/", ""),
        `import { greetOld } from "./names.mjs";\nexport const part${n} = greetOld("part ${n}");\n`,
      ]),
    ),
    "main.mjs": `${parts.map((_, n) => `import { part${n} } from "./src/part${n}.mjs";`).join("\n")}
console.log([${parts.map((_, n) => `part${n}`)}].join());
`,
  });
  environment_id = await installation.environment(shop);
  // The build is made once in advance, so that parallel runs do not wait for it.
  await installation.until(
    await installation.create(["SAY: built"], { config: { environment_id } }),
    "SUCCEEDED",
  );
});
afterAll(async () => {
  opened.resolve();
  await installation?.stop();
  gate?.stop();
});

const begin = (script: string[], body: object = {}) =>
  installation.begin(script, { config: { environment_id }, ...body });

async function succeed(script: string[], body: object = {}) {
  const { run, requests } = await begin(script, body);
  const item = await installation.until(run, "SUCCEEDED");
  return {
    run,
    item,
    events: await installation.events(run),
    requests: requests(),
    diff: await installation.diff(run),
  };
}

/** The removed and added lines of a patch, without its headers. */
const changesOf = (diff: string) => diff.split("\n").filter((line) => /^[-+](?!--|\+\+)/.test(line));
const filesOf = (diff: string) => [...diff.matchAll(/^\+\+\+ b\/(.*)$/gm)].map(([, path]) => path);

/** A new clone with the patch applied. */
function applied(diff: string, path: string): string {
  const folder = mkdtempSync(join(tmpdir(), "outrider-applied-"));
  try {
    git("/", "clone", "--quiet", shop.bare, join(folder, "shop"));
    writeFileSync(join(folder, "patch"), diff);
    git(join(folder, "shop"), "apply", join(folder, "patch"));
    return readFileSync(join(folder, "shop", path), "utf8");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe.concurrent("a task", () => {
  test("fixes a failing test with a one-line edit, which is the diff", async () => {
    const check = `RUN: ${node} --test --test-reporter=tap`;
    const { item, events, requests, diff } = await succeed([
      "SAY: I look at what fails.",
      check,
      call("read_file", { path: "total.mjs" }),
      edit("total.mjs", "sum - price", "sum + price"),
      check,
      "SAY: The sign was wrong.",
    ]);
    const finished = dataOf(events, "command.finished");
    expect(finished.map(({ exit_code }) => exit_code)).toEqual([1, 0]);
    const [failing = "", reading = "", , passing = ""] = resultsIn(requests.at(-1) as (typeof requests)[0]);
    expect(failing).toContain("not ok 1 - prices are added up");
    expect(reading).toContain("sum - price");
    expect(passing).toContain("\nok 1 - prices are added up");
    expect(dataOf(events, "file.changed")).toMatchObject([{ path: "total.mjs", kind: "modified" }]);
    expect(changesOf(diff)).toEqual([`-${total.trim()}`, `+${total.trim().replace("sum -", "sum +")}`]);
    expect(applied(diff, "total.mjs")).toBe(total.replace("sum -", "sum +"));
    expect(dataOf(events, "run.succeeded")).toEqual([{ text: "The sign was wrong." }]);
    expect(item).toMatchObject({ turns: 1, attempts: 1, usage: { steps: 5 } });
    expect(item.session_link).toContain(item.run_id);
  });

  test("renames a function in eleven files, ten of them in one step", async () => {
    const rename = (path: string) =>
      call("edit_file", {
        path,
        edits: [{ old_text: "greetOld", new_text: "greet", replace_all: true }],
      });
    const [first = "", ...others] = parts.map(rename);
    const { item, events, requests, diff } = await succeed([
      call("find_files", { pattern: "src/*.mjs" }),
      also(call("search_files", { pattern: "greetOld" })),
      rename("src/names.mjs"),
      first,
      ...others.map(also),
      call("search_files", { pattern: "greetOld" }),
      also(`RUN: ${node} main.mjs`),
      "SAY: Renamed.",
    ]);
    expect(item.usage.steps).toBe(5);
    const last = requests.at(-1) as (typeof requests)[0];
    const answers = resultsIn(last);
    for (const path of parts) {
      expect(answers[0]).toContain(path);
      expect(answers[1]).toContain(path);
    }
    expect(answers[13]).toBe("No match for greetOld in ..");
    expect(outputOf(events)).toBe(`${parts.map((_, n) => `hello part ${n}`).join()}\n`);
    expect(
      last.parsed.messages.flatMap((message) => (message.role === "assistant" ? [message.calls.length] : [])),
    ).toEqual([2, 1, 10, 2]);
    const changed = dataOf(events, "file.changed").map(({ path }) => path);
    expect(changed).toEqual(["src/names.mjs", ...parts]);
    expect(filesOf(diff).sort()).toEqual(changed.map((path) => path.replace("shop/", "")).sort());
    expect(changesOf(diff)).toHaveLength(2 + 10 * 4);
    expect(applied(diff, "src/part7.mjs")).not.toContain("greetOld");
  });

  test("of a GPT model changes files with a patch, and the environment's checks report new findings", async () => {
    const checks = [{ name: "marks", command: "! grep -Hn FIXME {files}", globs: ["*.mjs"] }];
    const checked = await installation.environment(shop, { checks });
    const input = [
      "*** Begin Patch",
      "*** Update File: total.mjs",
      "*** Move to: sum.mjs",
      "@@",
      `-${total.trim()}`,
      `+${total.trim().replace("sum -", "sum +")}`,
      "+// FIXME: rounding",
      "*** Delete File: src/part9.mjs",
      "*** End Patch",
    ].join("\n");
    const { events, requests, diff } = await succeed([call("apply_patch", { input }), "SAY: Patched."], {
      config: { environment_id: checked, model_id: modelIds.responses },
    });
    const names = requests[0]?.parsed.tools.map(({ name }) => name) ?? [];
    expect(names.filter((name) => /edit|patch/.test(name))).toEqual(["apply_patch"]);
    expect(dataOf(events, "run.started")[0].instructions).toContain(
      "after you edit a file, with their new findings",
    );
    const [result = ""] = resultsIn(requests.at(-1) as (typeof requests)[0]);
    expect(result).toContain('New findings of the check "marks":\nsum.mjs:2:// FIXME: rounding');
    expect(dataOf(events, "file.changed").map(({ path, kind }) => `${kind} ${path}`)).toEqual([
      "deleted total.mjs",
      "created sum.mjs",
      "deleted src/part9.mjs",
    ]);
    expect(applied(diff, "sum.mjs")).toBe(`${total.replace("sum -", "sum +")}// FIXME: rounding\n`);
  });

  test("that is a question is answered without changes", async () => {
    const { item, events, diff } = await succeed([
      call("read_file", { path: "total.mjs" }),
      "SAY: It takes the prices from zero.",
    ]);
    expect(diff).toBe("");
    expect(dataOf(events, "file.changed")).toEqual([]);
    expect(dataOf(events, "run.succeeded")).toEqual([{ text: "It takes the prices from zero." }]);
    expect(item.artifacts ?? []).toEqual([]);
    expect(item.receipt.repositories).toHaveLength(1);
  });

  test("waits for the user's answer and continues with its files", async () => {
    const { run, requests } = await begin([
      edit("total.mjs", "sum - price", "sum + price"),
      "ASK: In which currency?",
    ]);
    const blocked = await installation.until(run, "BLOCKED");
    expect(blocked.status_message.message).toBe("In which currency?");
    expect(blocked).toMatchObject({ phase: "blocked", turns: 1 });
    const reply = await installation.followUp(run, [
      "In crowns.",
      "WRITE: currency | crowns\\n",
      "RUN: cat total.mjs currency",
    ]);
    expect(reply).toMatchObject({ outcome: "new_turn" });
    const item = await installation.until(run, "SUCCEEDED");
    expect(item.turns).toBe(2);
    const last = requests().at(-1) as ReturnType<typeof requests>[0];
    expect(last.parsed.messages.some((one) => one.role === "assistant" && one.calls[0]?.name === "ask")).toBe(
      true,
    );
    expect(spokenIn(last).at(-1)).toMatch(/^In crowns\./);
    const events = await installation.events(run);
    expect(outputOf(events)).toBe(`${total.replace("sum -", "sum +")}crowns\n`);
    expect(filesOf(await installation.diff(run))).toEqual(["currency", "total.mjs"]);
    const transitions = events.flatMap(({ type }) =>
      /^run\.(blocked|reopened|succeeded)$/.test(type) ? [type] : [],
    );
    expect(transitions).toEqual(["run.blocked", "run.reopened", "run.succeeded"]);
  });

  test("runs a background command across several steps", async () => {
    const { events, requests } = await succeed([
      call("run_command", {
        command: "echo waiting; until [ -e go ]; do sleep 0.02; done; echo gone",
        background: true,
      }),
      call("read_output", { command_id: "bg-call-1" }),
      "WRITE: go | now",
      call("read_output", { command_id: "bg-call-1", wait_ms: 20_000 }),
      "SAY: done",
    ]);
    const answers = resultsIn(requests.at(-1) as (typeof requests)[0]);
    expect(answers[0]).toBe("Started in the background as bg-call-1.");
    expect(answers[1]).toMatch(/\[running\]$/);
    // Output can arrive in pieces of any size.
    const output = `${answers[1]}${answers[3]}`.replace("[running]", "").replaceAll("\n", "");
    expect(output).toBe("waitinggone[exit code 0]");
    expect(outputOf(events, "bg-call-1")).toBe("waiting\ngone\n");
  });
});

describe("a message", () => {
  const mcp_servers = () => ({ gate: { url: gate.url } });

  test("that arrives during a tool call is in the next model call", async () => {
    reached = Promise.withResolvers();
    opened = Promise.withResolvers();
    const { run, requests } = await installation.begin(
      [call("gate__say", {}), "RUN: echo second", "SAY: over"],
      {
        config: { mcp_servers: mcp_servers() },
      },
    );
    await reached.promise;
    const reply = await installation.followUp(run, ["Mind the gap."]);
    expect(reply).toMatchObject({ outcome: "live_session", state: "INPROGRESS" });
    expect(requests()).toHaveLength(1);
    opened.resolve();
    const item = await installation.until(run, "SUCCEEDED");
    const spoken = requests().map((request) => spokenIn(request).includes("Mind the gap."));
    expect(spoken).toEqual([false, true, true]);
    expect(requests()[1]?.parsed.messages.slice(-2)).toMatchObject([
      { role: "result", text: "the gate is open" },
      { role: "user", text: "Mind the gap." },
    ]);
    expect(item.turns).toBe(1);
    const events = await installation.events(run);
    const at = (type: string) => events.find((event) => event.type === type)?.seq as number;
    expect(at("message.user")).toBeGreaterThan(at("tool.returned"));
    expect(at("message.user")).toBeLessThan(at("command.started"));
    expect(dataOf(events, "run.succeeded")[0].text).toContain("Heard: Mind the gap.");
  });

  test("with mode queue is not delivered before the end of the turn", async () => {
    reached = Promise.withResolvers();
    opened = Promise.withResolvers();
    const { run, requests } = await installation.begin([call("gate__say", {}), "RUN: echo second"], {
      config: { mcp_servers: mcp_servers() },
    });
    await reached.promise;
    await installation.followUp(run, ["SAY: afterwards"], { mode: "queue" });
    opened.resolve();
    await installation.event(run, ({ type, data }) => type === "run.succeeded" && data.text === "afterwards");
    const spoken = requests().map((request) => spokenIn(request).includes("SAY: afterwards"));
    expect(spoken).toEqual([false, false, false, true]);
  });

  test("with mode interrupt stops the running command, and the model is informed of both", async () => {
    const { command, mark } = longSleep();
    const { run, requests } = await begin([`RUN: echo begun; ${command}`]);
    await waitForSleep(mark);
    await installation.followUp(run, ["Enough of that.", "RUN: echo better"], { mode: "interrupt" });
    const item = await installation.until(run, "SUCCEEDED");
    expect(processesWith(mark)).toEqual([]);
    expect(item).toMatchObject({ turns: 1, attempts: 1 });
    const events = await installation.events(run);
    expect(outputOf(events)).toBe("begun\nbetter\n");
    expect(dataOf(events, "command.finished")[0]).not.toHaveProperty("exit_code");
    expect(requests()[1]?.parsed.messages.slice(-2)).toMatchObject([
      { role: "result", text: "begun\n[stopped before it finished]" },
      { role: "user", text: expect.stringMatching(/^Enough of that\./) },
    ]);
  });
});

describe.concurrent("an answer with output_schema", () => {
  const output_schema = {
    type: "object",
    properties: { jars: { type: "integer", minimum: 1 } },
    required: ["jars"],
    additionalProperties: false,
  };

  test("becomes the run's output; invalid answers are returned to the model first", async () => {
    const { item, events, requests } = await succeed(
      [
        "SAY: Seven jars, I think.",
        call("finish", { jars: "seven" }),
        call("finish", {}),
        call("finish", { jars: 7 }),
      ],
      { output_schema },
    );
    expect(item).toMatchObject({ output: { jars: 7 }, output_schema });
    expect(dataOf(events, "run.succeeded")).toMatchObject([{ output: { jars: 7 } }]);
    expect(requests[0]?.parsed.tools.find(({ name }) => name === "finish")?.input).toMatchObject(
      output_schema,
    );
    const results = resultsIn(requests.at(-1) as (typeof requests)[0]);
    expect(results).toHaveLength(2);
    for (const result of results) expect(result).toMatch(/^The answer does not match the schema: .*jars/);
    expect(dataOf(events, "tool.returned").map(({ is_error = false }) => is_error)).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("is requested again if the model only sends text", async () => {
    const { run, requests } = await begin(["SAY: Seven."], { output_schema });
    const { status_message } = await installation.until(run, "FAILED");
    expect(status_message.error_code).toBe("output_invalid");
    expect(requests()).toHaveLength(4);
    for (const request of requests().slice(1))
      expect(spokenIn(request).at(-1)).toContain("[Outrider: answer missing]");
    await installation.followUp(run, [call("finish", { jars: 8 })]);
    expect((await installation.until(run, "SUCCEEDED")).output).toEqual({ jars: 8 });
  });

  test("that stays invalid fails the run as output_invalid with the reason", async () => {
    const { run, requests } = await begin(Array(6).fill(call("finish", { jars: 0 })), { output_schema });
    const item = await installation.until(run, "FAILED");
    expect(item.status_message).toMatchObject({
      error_code: "output_invalid",
      message: expect.stringMatching(/after 4 attempts.*jars/s),
    });
    expect(item).not.toHaveProperty("output");
    expect(requests()).toHaveLength(4);
  });
});

test("attachments: a text is at its path, and an image is sent to the model", async () => {
  const png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const { item, events, requests, diff } = await succeed(
    ["RUN: cat ~/attachments/list.txt; ls ~/attachments"],
    {
      attachments: [
        {
          file_name: "list.txt",
          mime_type: "text/plain",
          data: Buffer.from("seven jars\n").toString("base64"),
        },
        { file_name: "shelf.png", mime_type: "image/png", data: png },
      ],
    },
  );
  expect(outputOf(events)).toBe("seven jars\nlist.txt\nshelf.png\n");
  for (const { body, parsed } of requests) {
    expect(parsed.messages[0]).toMatchObject({ role: "user", images: 1 });
    expect(body.messages[0].content.find(({ type }: { type: string }) => type === "image").source).toEqual({
      type: "base64",
      media_type: "image/png",
      data: png,
    });
  }
  const [first = ""] = spokenIn(requests[0] as (typeof requests)[0]);
  for (const name of ["list.txt", "shelf.png"]) expect(first).toContain(`~/attachments/${name}`);
  expect(item.attachments).toHaveLength(2);
  expect(diff).toBe("");
});

test("a follow-up on another worker has the files and the conversation", async () => {
  const { run, requests } = await begin(
    [
      "SAY: I note it.",
      edit("total.mjs", "sum - price", "sum + price"),
      "RUN: echo seven > jars; echo $HOSTNAME > ~/home",
    ],
    { config: { environment_id, idle_timeout_minutes: 0 } },
  );
  const before = await installation.until(run, "SUCCEEDED");
  expect(before.is_sandbox_running).toBe(false);
  const asked = requests().length;
  const first = worker;
  worker = await installation.agentWorker(gate.port);
  await first.drain();
  await installation.followUp(run, ["RUN: cat jars; git diff --stat | tail -1", "SAY: still there"]);
  const item = await installation.until(run, "SUCCEEDED");
  expect(item.turns).toBe(2);
  expect(item.receipt.worker).not.toBe(before.receipt.worker);
  expect(item.receipt.repositories).toEqual(before.receipt.repositories);
  expect(outputOf(await installation.events(run))).toMatch(
    /^seven\n 1 file changed, 1 insertion\(\+\), 1 deletion\(-\)\n$/,
  );
  const { messages } = (requests()[asked] as ReturnType<typeof requests>[0]).parsed;
  expect(messages.filter(({ role }) => role === "assistant").map(({ text }) => text)).toContain("I note it.");
  expect(messages.filter(({ role }) => role === "result")).toHaveLength(2);
});
