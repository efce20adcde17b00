import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Notice } from "../../src/egress/egress-session.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { ArtifactQuota } from "../../src/workspace/artifact-quota.ts";
import { CommandRecorder } from "../../src/workspace/command-recorder.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "outrider-recorder-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const notEnforced = { enforced: false, reason: "a test" } as const;
const sandbox = {
  enforced: {
    ...{ memory: notEnforced, cpus: notEnforced, pids: notEnforced, disk: notEnforced },
    ...{ network: notEnforced, freeze: notEnforced, seccomp: notEnforced },
  },
  limitEvents: async () => ({ oom_kills: 0, forks_refused: 0 }),
};

/** Records chunks of output with a limit of 100,000 bytes. */
async function record(chunks: string[]) {
  const notices: Notice[] = [];
  const stored: string[] = [];
  let events = "";
  const recorder = new CommandRecorder(
    {
      redactor: new Redactor([]),
      folder,
      quota: new ArtifactQuota(),
      maxFileBytes: 100_000,
      emitNotice: (notice) => notices.push(notice),
      storeArtifact: async ({ path, size_bytes }) => {
        stored.push(readFileSync(path, "utf8"));
        expect(stored.at(-1)).toHaveLength(size_bytes);
        return "artifact";
      },
      copyToSandbox: async () => "/tmp/outrider/output-1.log",
    },
    {
      command_id: "c",
      sandbox,
      onOutput: ({ text }) => {
        events += text;
      },
    },
  );
  for (const chunk of chunks) recorder.push(Buffer.from(chunk));
  const where = await recorder.end();
  recorder.remove();
  return { notices, stored, events, where };
}

test("output beyond the limit is cut without a gap, and a notice says so", async () => {
  const chunks = ["a".repeat(70_000), "b".repeat(20_000), "c".repeat(20_000), "d".repeat(5_000)];
  const { notices, stored, events, where } = await record(chunks);
  expect(where).toEqual({ artifact_id: "artifact", output_path: "/tmp/outrider/output-1.log" });
  expect(stored).toEqual([`${chunks[0]}${chunks[1]}`]);
  expect(notices).toEqual([
    {
      code: "output_truncated",
      message: "The output of this command is too long. The artifact contains only its first 90000 bytes.",
    },
  ]);
  expect(events).toBe(chunks.join(""));
  expect(readdirSync(folder)).toEqual([]);
});

test("output up to the limit is stored completely, without a notice", async () => {
  const chunks = ["a".repeat(70_000), "b".repeat(30_000)];
  const { notices, stored } = await record(chunks);
  expect([stored, notices]).toEqual([[chunks.join("")], []]);
});
