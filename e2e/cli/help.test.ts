import type { Command } from "commander";
import { afterAll, expect, test } from "vitest";
import { makeProgram } from "../../packages/cli/src/program.ts";
import { makeCli } from "./cli.ts";

const cli = makeCli();
afterAll(() => cli[Symbol.dispose]());

const AT_ONCE = 4;

function walk(command: Command, path: string[] = []): string[][] {
  return [path, ...command.commands.flatMap((each) => walk(each, [...path, each.name()]))];
}

test("every command explains itself", { timeout: 120_000 }, async () => {
  const left = walk(await makeProgram());
  const seen: string[] = [];
  const read = async () => {
    for (let path = left.pop(); path; path = left.pop()) {
      const { code, stdout, stderr } = await cli([...path, "--help"]);
      const usage = new RegExp(
        `^Usage: ${["outrider", ...path].join(" ")} ?[^\\n]*\\n\\n[A-Z][^\\n]+[^]*--help`,
      );
      expect({ code, stderr }, path.join(" ")).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(usage);
      seen.push(path.join(" "));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, read));
  expect(seen).toEqual(expect.arrayContaining(["", "serve", "worker", "person add", "runs followups edit"]));
});
