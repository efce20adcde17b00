import { dirname } from "node:path/posix";
import { quote } from "../shell.ts";
import type { GitHistory } from "./git.ts";

/**
 * Test commands can contain `{files}`, the test files of a commit, and `{folders}`, their folders as `./folder`. Only
 * these tests then judge, which is faster, and unrelated tests that fail in a sandbox do no harm.
 */

/** Finds the command that runs the tests of a repository at a commit. */
export async function detectTestCommand(history: GitHistory, commit: string): Promise<string | undefined> {
  const files = new Set((await history.text("ls-tree", "--name-only", commit)).split("\n"));
  const read = (path: string) => history.text("show", `${commit}:${path}`);
  if (files.has("go.mod")) return "go test {folders}";
  if (files.has("package.json")) {
    const script = testScript(await read("package.json"));
    if (script?.startsWith("node --test")) return "node --test {files}";
    if (script) return "npm test";
  }
  const pythonFiles = ["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "conftest.py"];
  const found = pythonFiles.filter((name) => files.has(name));
  if (found.length === 0 && ![...files].some((name) => name.endsWith(".py"))) return undefined;
  const texts = await Promise.all(found.map(read));
  const usesPytest = files.has("conftest.py") || texts.some((text) => text.includes("pytest"));
  return usesPytest ? "python3 -m pytest -q {files}" : "python3 -m unittest {files}";
}

/** Inserts the tests of a commit into a test command. */
export function fillTestCommand(command: string, testPaths: string[]): string {
  // Fixtures and other data next to the tests are not tests themselves.
  const tests = testPaths.filter((path) => /\.([cm]?[jt]sx?|py|go|rb|sh|exs?|php)$/.test(path));
  const runnable = tests.filter((path) => !/(^|\/)(conftest|__init__)\.py$/.test(path));
  const names = runnable.length > 0 ? runnable : testPaths;
  const folders = [...new Set(names.map((path) => `./${dirname(path)}`))];
  return command
    .replaceAll("{files}", names.map(quote).join(" "))
    .replaceAll("{folders}", folders.map(quote).join(" "));
}

function testScript(manifest: string): string | undefined {
  try {
    const { scripts } = JSON.parse(manifest) as { scripts?: { test?: unknown } };
    const script = scripts?.test;
    return typeof script === "string" && !script.includes("no test specified") ? script : undefined;
  } catch {
    return undefined;
  }
}
