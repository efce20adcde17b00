/** The results of one test file. */
export interface FileResults {
  passed: number;
  skipped: number;
  /** Full names of the tests that failed. */
  failed: string[];
  /** Failures that belong to no single test: an import error, or a hook that threw. */
  broken: number;
}

/** The results of one vitest process. */
export interface Results {
  /** By path from the root of the repository. */
  files: Record<string, FileResults>;
  /** Failures that belong to no file: unhandled errors, a broken global setup or teardown. */
  unattributed: number;
}

/**
 * Tests that are never retried: a failure that appears once in a hundred runs is a defect of the engine or of the
 * isolation, not of the test.
 */
const neverRetried = [
  /^packages\/server\/test\/(runs|dispatch|store)\//,
  /^packages\/worker\/test\/(escape|egress|redaction)\//,
  /^e2e\/chaos\//,
];

/** More failed files than this are a broken build, and running them again only costs time. */
const MAX_RETRIED_FILES = 10;

/** The name of a failure that belongs to no single test. */
const FILE_OR_HOOK = "(the file or one of its hooks)";

const hasFailed = ({ failed, broken }: FileResults) => failed.length + broken > 0;

/** Returns the files to run once more, or none if a retry is not allowed for one of the failures. */
export function filesToRetry({ files, unattributed }: Results): string[] {
  const failed = Object.keys(files).filter((file) => hasFailed(files[file] as FileResults));
  const isAllowed = failed.every((file) => !neverRetried.some((pattern) => pattern.test(file)));
  return unattributed === 0 && isAllowed && failed.length <= MAX_RETRIED_FILES ? failed : [];
}

/** Replaces the results of the retried files, and lists what failed first and passed in the retry. */
export function mergeRetry(first: Results, retry: Results): { results: Results; flaky: string[] } {
  const flaky = Object.entries(retry.files).flatMap(([file, { failed, broken }]) => {
    const before = first.files[file];
    if (!before) return [];
    const tests = before.failed.filter((name) => broken === 0 && !failed.includes(name));
    const hooks = before.broken > 0 && broken === 0 ? [FILE_OR_HOOK] : [];
    return [...tests, ...hooks].map((name) => `${file} > ${name}`);
  });
  const results = {
    files: { ...first.files, ...retry.files },
    unattributed: first.unattributed + retry.unattributed,
  };
  return { results, flaky };
}

/** Returns the full names of the failed tests. */
export function namesOfFailed({ files }: Results): string[] {
  return Object.entries(files).flatMap(([file, { failed, broken }]) =>
    [...failed, ...(broken > 0 ? [FILE_OR_HOOK] : [])].map((name) => `${file} > ${name}`),
  );
}

export function countFailures({ files, unattributed }: Results): number {
  const ofFiles = Object.values(files).map(({ failed, broken }) => failed.length + broken);
  return ofFiles.reduce((sum, count) => sum + count, unattributed);
}

/** The last line of a test run. */
export function summaryOf(results: Results): string {
  const sum = (count: (file: FileResults) => number) =>
    Object.values(results.files).reduce((total, file) => total + count(file), 0);
  const skipped = sum((file) => file.skipped);
  const counts = `${sum((file) => file.passed)} passed, ${countFailures(results)} failed`;
  return skipped > 0 ? `${counts}, ${skipped} skipped` : counts;
}
