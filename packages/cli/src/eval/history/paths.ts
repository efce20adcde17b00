import { basename, extname, matchesGlob } from "node:path/posix";

/** Tells tests from code by path. Glob patterns replace the usual names of a language. */

const testFolders = /(^|\/)(tests?|__tests__|specs?|testdata|__snapshots__)\//i;
const testNames =
  /(^tests?\.(py|[cm]?[jt]s|sh|rb)|^test_.+\.py|_test\.(py|go|rb|exs?|dart)|[._-](test|spec)\.[cm]?[jt]sx?|_spec\.rb|Tests?\.(java|kt|cs|php|swift)|^conftest\.py|\.snap)$/;
const codeExtensions = new Set(
  "c cc clj cpp cs dart erl ex exs go h hpp hs java js jsx kt lua mjs cjs mts cts ml php pl pm py r rb rs scala sh sql swift ts tsx vue svelte zig".split(
    " ",
  ),
);

export interface PathPatterns {
  tests?: string[];
  code?: string[];
}

export function isTest(path: string, { tests }: PathPatterns): boolean {
  if (tests) return tests.some((pattern) => matchesGlob(path, pattern));
  return testFolders.test(path) || testNames.test(basename(path));
}

export function isCode(path: string, patterns: PathPatterns): boolean {
  if (isTest(path, patterns)) return false;
  if (patterns.code) return patterns.code.some((pattern) => matchesGlob(path, pattern));
  return codeExtensions.has(extname(path).slice(1).toLowerCase());
}
