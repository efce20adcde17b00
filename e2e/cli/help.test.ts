import type { Command } from "commander";
import { afterAll, expect, test } from "vitest";
import { createProgram } from "../../packages/cli/src/program.ts";
import { createCli } from "./cli.ts";

const cli = createCli();
afterAll(() => cli[Symbol.dispose]());

const CONCURRENCY = 4;

test("help does not load jq", async () => {
  const hook = `import { registerHooks } from "node:module";
    registerHooks({ resolve(name, context, next) {
      if (name === "jq-wasm") process.stderr.write("loaded jq");
      return next(name, context);
    } });`;
  const environment = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` };
  expect((await cli(["--help"], { environment })).stderr).toBe("");
  expect((await cli(["runs", "list", "--help"], { environment })).stderr).toBe("");
  expect((await cli(["runs", "list", "--jq", "["], { environment })).stderr).toContain("loaded jq");
});

function walk(command: Command, path: string[] = []): string[][] {
  return [path, ...command.commands.flatMap((subcommand) => walk(subcommand, [...path, subcommand.name()]))];
}

test("every command has help", async () => {
  const remaining = walk(await createProgram());
  const seen: string[] = [];
  const readHelp = async () => {
    for (let path = remaining.pop(); path; path = remaining.pop()) {
      const { code, stdout, stderr } = await cli([...path, "--help"]);
      const usage = new RegExp(
        `^Usage: ${["outrider", ...path].join(" ")} ?[^\\n]*\\n\\n[A-Z][^\\n]+[^]*--help`,
      );
      expect({ code, stderr }, path.join(" ")).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(usage);
      seen.push(path.join(" "));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, readHelp));
  expect(seen).toEqual(
    expect.arrayContaining(["", "serve", "worker", "admin add-user", "runs followups edit"]),
  );
});
