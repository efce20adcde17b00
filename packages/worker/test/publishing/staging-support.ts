import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { AssignedPublishing } from "@outrider/contract/worker/publication";
import { repositoryOf } from "../../src/builds/repository-contents.ts";
import { type StageOptions, stageCommits } from "../../src/publishing/stage-commits.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import type { Repositories } from "../../src/repositories/repository.ts";
import type { Checkout, Repos } from "../repositories/checkout-support.ts";

/** Stages the commits of checkouts, with blobs in memory. */

export const author = { name: "Ada", email: "ada@example.com" };
export const signal = new AbortController().signal;

export class BlobStore {
  readonly blobs = new Map<string, Buffer>();

  async putBlob(content: string | Buffer, sha256: string): Promise<void> {
    const data = typeof content === "string" ? await readFile(content) : content;
    if (createHash("sha256").update(data).digest("hex") !== sha256) throw new Error("wrong hash");
    this.blobs.set(sha256, data);
  }

  async getBlob(sha256: string): Promise<Readable> {
    return Readable.from([this.blobs.get(sha256) as Buffer]);
  }
}

export type Policy = AssignedPublishing["repositories"][number];

export function policyOf(changes: Partial<Policy> = {}): Policy {
  return {
    path: "app",
    kind: "draft_pull_request",
    branch: "outrider/change-12345678",
    base: "main",
    commit_uncommitted: true,
    on_base_moved: "none",
    max_diff_bytes: 5 * 2 ** 20,
    ...changes,
  };
}

interface StageSettings extends Partial<Pick<StageOptions, "limits" | "message" | "secrets">> {
  repos: Repos;
  policy?: Partial<Policy>;
  store?: BlobStore;
  knownSecrets?: string[];
}

export async function stage(
  { repositories, folder }: { repositories: Repositories; folder: string },
  checkout: Pick<Checkout, "sandbox" | "fetched">,
  { repos, policy, store = new BlobStore(), knownSecrets = [], ...options }: StageSettings,
) {
  const [repo] = repos.repos;
  const [fetched] = checkout.fetched;
  if (!repo || !fetched) throw new Error("There is no repository.");
  return await stageCommits({
    ...{ repositories, author, signal, server: store, sandbox: checkout.sandbox },
    folder: mkdtempSync(join(folder, "upload-")),
    source: repositoryOf(repo, repos.credentials ?? {}),
    repository: { path: fetched.path, url: fetched.url, commit: fetched.commit },
    policy: policyOf(policy),
    redactor: new Redactor(knownSecrets),
    ...options,
  });
}

/** Writes a bundle to a file and returns its path. */
export function saveBundle(folder: string, store: BlobStore, sha256: string): string {
  const path = join(mkdtempSync(join(folder, "bundle-")), "run.bundle");
  writeFileSync(path, store.blobs.get(sha256) as Buffer);
  return path;
}

/** Streams a pack with what the revisions reach. */
export function packOf(folder: string, revisions: string[], ...options: string[]): Readable {
  const child = spawn("git", ["pack-objects", "--quiet", "--revs", "--stdout", ...options], { cwd: folder });
  child.stdin.end(revisions.map((revision) => `${revision}\n`).join(""));
  return child.stdout;
}
