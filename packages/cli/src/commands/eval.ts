import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command, Option } from "commander";
import { connect } from "../connection.ts";
import { compare, comparisonColumns, harnessesOf } from "../eval/comparison.ts";
import { type EmbeddedServer, makeTemporaryFolder, startEmbeddedServer } from "../eval/embedded-server.ts";
import { evaluate, SCRIPTED } from "../eval/evaluate.ts";
import { buildHistoryTasks, type HistoryFlags } from "../eval/history/build-tasks.ts";
import type { Rejection } from "../eval/history/candidates.ts";
import { findMissingPrograms } from "../eval/programs.ts";
import {
  describeProof,
  resultColumns,
  type SkippedTask,
  summarize,
  summaryColumns,
  toDocument,
  verdictOf,
} from "../eval/report.ts";
import { readSuite } from "../eval/suite.ts";
import { type EvalResult, type EvalTask, isAsExpected } from "../eval/task.ts";
import { exits, UsageError } from "../exit-codes.ts";
import { collect, numberParser, omitUndefined } from "../input/pairs.ts";
import { Output } from "../terminal/output.ts";
import { printError } from "../terminal/print-error.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { alignedTable, type Column } from "../terminal/table.ts";

interface EvalFlags extends HistoryFlags {
  suite?: string;
  model?: string[];
  harness?: string[];
  tasks?: string;
  attempts: number;
  concurrency: number;
  maxSteps?: number;
  maxCost?: number;
  timeout?: number;
  json?: string;
  server?: string;
  models?: string;
  dataDir?: string;
  list?: true;
}

const historyOption = (flags: string, description: string) =>
  new Option(flags, description).helpGroup("Tasks from history:");

export const evalCommand = new Command("eval")
  .description(
    "Evaluate models and harnesses on tasks. Starts a server for the evaluation, unless --server is set.",
  )
  .option("--suite <folder>", "folder with one folder per task")
  .option("--model <id>", "model to evaluate; repeatable; default: the server's default model", collect)
  .option(
    "--harness <names>",
    "harnesses to compare, from `outrider harness list`, separated by commas; default: outrider",
    splitNames,
  )
  .option("--tasks <names>", "only these tasks, separated by commas; * matches any characters")
  .option("--attempts <number>", "attempts per task and model", numberParser("--attempts"), 1)
  .option("--concurrency <number>", "attempts that run at the same time", numberParser("--concurrency"), 2)
  .option("--max-steps <number>", "maximum steps of an attempt, default 60", numberParser("--max-steps"))
  .option("--max-cost <dollars>", "maximum cost of an attempt", numberParser("--max-cost"))
  .option("--timeout <minutes>", "maximum time of an attempt, default 20", numberParser("--timeout"))
  .option("--json <file>", "also write the results to a file as JSON; - writes only JSON to stdout")
  .option("--list", "list the tasks without executing them")
  .option("--server <url>", "use this server, with the key from `outrider login` or OUTRIDER_API_KEY")
  .option(
    "--models <file>",
    "models file of the started server (OUTRIDER_MODELS, default .outrider/models.json)",
  )
  .option("--data-dir <path>", "keep the started server's data, including all runs, in this directory")
  .addOption(
    historyOption(
      "--from-history <repository>",
      "build tasks from the commits of a repository: a path or URL",
    ),
  )
  .addOption(
    historyOption(
      "--commits <number>",
      "how many of the newest commits that change code and tests to use",
    ).argParser(numberParser("--commits")),
  )
  .addOption(historyOption("--ref <ref>", "branch, tag or commit to start from; default: HEAD"))
  .addOption(
    historyOption(
      "--test-command <command>",
      "command that runs the tests; {files} and {folders} stand for a commit's tests; default: detected",
    ),
  )
  .addOption(
    historyOption(
      "--setup-command <command>",
      "prepare the repository, such as `npm ci`; repeatable",
    ).argParser(collect),
  )
  .addOption(
    historyOption("--allow <domain>", "domain that setup commands and runs can reach; repeatable").argParser(
      collect,
    ),
  )
  .addOption(
    historyOption("--test-paths <glob>", "paths of tests; repeatable; default: usual names").argParser(
      collect,
    ),
  )
  .addOption(
    historyOption("--code-paths <glob>", "paths of code; repeatable; default: usual names").argParser(
      collect,
    ),
  )
  .addOption(historyOption("--secret <name>", "with --server: secret to fetch the repository with"))
  .action(async (flags: EvalFlags) => {
    try {
      await runEval(flags);
    } catch (error) {
      process.exitCode = printError(error, { isJson: false });
    }
    // Timers of the stopped server would keep this process running for a minute.
    process.exit();
  });

async function runEval(flags: EvalFlags): Promise<void> {
  validateFlags(flags);
  const out = new Output({ color: true, quiet: flags.json === "-" });
  const interruption = new AbortController();
  const interrupt = () => interruption.abort();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, interrupt);
  const folder = makeTemporaryFolder();
  try {
    await evaluateWith({ flags, out, folder, signal: interruption.signal });
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
    throw new UsageError("Interrupted.", { exit: exits.interrupted, code: "interrupted" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, interrupt);
  }
}

interface Evaluation {
  flags: EvalFlags;
  out: Output;
  /** For clones. Removed at the end. */
  folder: string;
  signal: AbortSignal;
}

async function evaluateWith(evaluation: Evaluation): Promise<void> {
  const { flags, out, folder, signal } = evaluation;
  const evalId = randomBytes(4).toString("hex");
  const fromSuite = flags.suite === undefined ? [] : selectTasks(readSuite(flags.suite), flags.tasks);
  if (flags.list && flags.suite !== undefined) return listTasks(out, fromSuite);
  await using server = await openServer(flags, folder);
  const { client } = server;
  await checkHarnesses(client, flags);
  const programs = ["git", ...fromSuite.flatMap((task) => task.programs)];
  const missing = await findMissingPrograms(programs, { client, signal });
  let tasks = fromSuite;
  let rejected: Rejection[] = [];
  if (flags.fromHistory !== undefined) {
    const note = (text: string) => out.note(sanitizeLine(text));
    const built = await buildHistoryTasks({
      flags,
      client,
      evalId,
      folder: join(folder, "source.git"),
      signal,
      note,
    });
    tasks = selectTasks(built.tasks, flags.tasks);
    rejected = built.rejected;
    if (flags.list) return listTasks(out, tasks);
  }
  const lacks = (task: EvalTask) => task.programs.filter((program) => missing.has(program));
  const skipped: SkippedTask[] = tasks
    .filter((task) => lacks(task).length > 0)
    .map((task) => ({ task: task.name, reason: `The sandbox has no ${lacks(task).join(" and no ")}.` }));
  const results = await evaluate(
    tasks.filter((task) => lacks(task).length === 0),
    {
      ...{ client, evalId, signal, attempts: flags.attempts, concurrency: flags.concurrency },
      models: flags.model ?? [await defaultModel(client)],
      harnesses: flags.harness ?? [],
      settings: omitUndefined({
        maxSteps: flags.maxSteps,
        maxCostUsd: flags.maxCost,
        timeoutMinutes: flags.timeout,
      }),
      onResult: (result, { done, total }) =>
        out.note(`${String(done).padStart(String(total).length)}/${total} ${describe(result)}`),
    },
  );
  report({ flags, out, evalId, results, skipped, rejected });
}

function report(from: {
  flags: EvalFlags;
  out: Output;
  evalId: string;
  results: EvalResult[];
  skipped: SkippedTask[];
  rejected: Rejection[];
}): void {
  const { flags, out, results, skipped, rejected } = from;
  const document = `${JSON.stringify(toDocument(from), undefined, 2)}\n`;
  if (flags.json === "-") process.stdout.write(document);
  else {
    if (flags.json !== undefined) writeFileSync(flags.json, document);
    printTable(out, results, resultColumns(out.style));
    for (const { task, reason } of skipped) out.print(sanitizeLine(`Skipped ${task}: ${reason}`));
    for (const { commit, subject, reason } of rejected)
      out.print(sanitizeLine(`Rejected ${commit.slice(0, 10)} ${subject}: ${reason}`));
    out.print("");
    if (harnessesOf(results).length > 1) {
      printTable(out, compare(results), comparisonColumns(results, out.style));
      out.print("");
    }
    printTable(out, summarize(results), summaryColumns());
    const proof = describeProof(results);
    if (proof) out.print(proof);
  }
  if (results.length === 0)
    throw new UsageError("No task could be executed.", { exit: exits.failed, code: "no_tasks" });
  if (!results.every(isAsExpected) || skipped.length > 0) process.exitCode = exits.failed;
}

/** Aligned also in a pipe, because the result is for people; programs read the JSON. */
function printTable<Row>(out: Output, rows: Row[], columns: Column<Row>[]): void {
  const width = out.isTerminal ? out.width : 220;
  if (rows.length > 0) out.print(alignedTable(rows, columns, { width, style: out.style }));
}

function listTasks(out: Output, tasks: EvalTask[]): void {
  printTable(out, tasks, [
    { title: "TASK", text: ({ name }) => name },
    { title: "KIND", text: ({ kind }) => kind },
    { title: "PROMPT", text: ({ prompt }) => prompt, canShrink: true },
  ]);
}

function describe(result: EvalResult): string {
  const model = result.scripted ? `${result.model} (${result.scripted})` : result.model;
  const reason = result.reason ? `: ${result.reason}` : "";
  const harness = result.harness === undefined ? "" : `, ${result.harness}`;
  return sanitizeLine(`${result.task}, ${model}${harness}: ${verdictOf(result)}${reason}`).slice(0, 300);
}

async function openServer({ server, models, dataDir }: EvalFlags, folder: string): Promise<EmbeddedServer> {
  if (server !== undefined) return { client: await connect({ server }), async [Symbol.asyncDispose]() {} };
  return startEmbeddedServer({
    ...omitUndefined({ dataDir, modelsFile: models }),
    repositoryPaths: [folder],
  } as Parameters<typeof startEmbeddedServer>[0]);
}

function splitNames(text: string, earlier: string[] = []): string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) throw new UsageError("--harness must be names, separated by commas.");
  return [...new Set([...earlier, ...names])];
}

/** Rejects a harness that cannot be used, because every attempt with it would fail. */
async function checkHarnesses(
  client: EmbeddedServer["client"],
  { harness: names, server }: EvalFlags,
): Promise<void> {
  if (!names) return;
  const { harnesses } = await client.harnesses.list();
  for (const name of names) {
    const harness = harnesses.find((each) => each.name === name);
    if (!harness)
      throw new UsageError(
        `Harness ${JSON.stringify(name)} not found. Use ${harnesses.map((each) => each.name).join(", ")}.`,
      );
    // The worker of a server that has just started has not reported its harnesses yet.
    if (server !== undefined && !harness.available)
      throw new UsageError(`The harness ${name} is not available: ${harness.reason ?? "unknown reason"}`);
  }
}

async function defaultModel(client: EmbeddedServer["client"]): Promise<string> {
  const { default_model_id } = await client.models.list();
  return default_model_id ?? SCRIPTED;
}

function selectTasks(tasks: EvalTask[], names: string | undefined): EvalTask[] {
  if (names === undefined) return tasks;
  const patterns = names.split(",").map((name) => name.trim());
  const selected = patterns.map((pattern) => {
    const parts = pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
    const found = tasks.filter(({ name }) => new RegExp(`^${parts.join(".*")}$`).test(name));
    if (found.length === 0) throw new UsageError(`Task ${JSON.stringify(pattern)} not found. See --list.`);
    return found;
  });
  const wanted = new Set(selected.flat());
  return tasks.filter((task) => wanted.has(task));
}

function validateFlags(flags: EvalFlags): void {
  if ((flags.suite === undefined) === (flags.fromHistory === undefined))
    throw new UsageError("Pass either --suite with a folder of tasks, or --from-history with a repository.");
  if (flags.fromHistory !== undefined && flags.commits === undefined)
    throw new UsageError("--from-history requires --commits.");
  const historyFlags = [
    "commits",
    "ref",
    "testCommand",
    "setupCommand",
    "allow",
    "testPaths",
    "codePaths",
    "secret",
  ];
  const given = historyFlags.find((name) => flags[name as keyof EvalFlags] !== undefined);
  if (flags.fromHistory === undefined && given !== undefined)
    throw new UsageError(
      `--${given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} requires --from-history.`,
    );
  if (flags.secret !== undefined && flags.server === undefined)
    throw new UsageError("--secret requires --server. Without it, git fetches with your own credentials.");
  for (const name of ["models", "dataDir"] as const)
    if (flags.server !== undefined && flags[name] !== undefined)
      throw new UsageError(`--${name === "models" ? "models" : "data-dir"} cannot be used with --server.`);
  for (const name of ["attempts", "concurrency", "commits", "maxSteps", "timeout"] as const) {
    const value = flags[name];
    if (value !== undefined && !(Number.isInteger(value) && value > 0 && value <= 1_000))
      throw new UsageError(
        `--${name === "maxSteps" ? "max-steps" : name} must be an integer from 1 to 1000.`,
      );
  }
}
