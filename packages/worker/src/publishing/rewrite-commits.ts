import { Readable } from "node:stream";
import type { GitAuthor } from "@outrider/contract/publish-policy";
import type { Outbox } from "./outbox.ts";
import { readObjects } from "./read-objects.ts";
import { CommitSigner } from "./sign-commit.ts";

const COMMAND_MS = 2 * 60_000;

interface RewriteOptions {
  tip: string;
  /** Arguments for git: commits of the remote, which stay as they are. */
  exclude: string[];
  coAuthor?: GitAuthor | undefined;
  /** Whether each commit is signed off by its author. */
  signOff: boolean;
  /** An SSH private key. */
  signingKey?: string | undefined;
}

/**
 * Adds trailers and signatures to the commits of a run, and returns the new tip. The result depends only on the commits
 * and the options, so that a repeated push creates the same commits. A commit that already is as it should be, with the
 * parents that it should have, stays as it is.
 */
export async function rewriteCommits(outbox: Outbox, options: RewriteOptions): Promise<string> {
  const { tip, coAuthor, signOff, signingKey } = options;
  if (!coAuthor && !signOff && signingKey === undefined) return tip;
  using signer = signingKey === undefined ? undefined : await CommitSigner.open(signingKey, outbox.signal);
  const rewritten = new Map<string, string>();
  for (const [id, content] of await readCommits(outbox, options)) {
    const commit = parseCommit(content);
    const parents = commit.parents.map((parent) => rewritten.get(parent) ?? parent);
    const message = addTrailers(commit, { coAuthor, signOff });
    const isSame =
      message === commit.message && parents.every((parent, index) => parent === commit.parents[index]);
    if (isSame && !signer) continue;
    const unsigned = formatCommit({ ...commit, parents, message });
    const signature = await signer?.sign(Buffer.from(unsigned, "latin1"));
    rewritten.set(id, await writeCommit(outbox, formatCommit({ ...commit, parents, message, signature })));
  }
  return rewritten.get(tip) ?? tip;
}

/** Returns the content of the commits, parents first. */
export async function readCommits(
  outbox: Outbox,
  { tip, exclude }: Pick<RewriteOptions, "tip" | "exclude">,
): Promise<Map<string, Buffer>> {
  const args = ["rev-list", "--topo-order", "--reverse", tip, "--not", ...exclude];
  const ids = (await outbox.run(args, { timeoutMs: COMMAND_MS })).split("\n").filter(Boolean);
  const contents = new Map<string, Buffer>();
  await readObjects(outbox, ids, {
    timeoutMs: COMMAND_MS,
    onObject({ id }) {
      const chunks: Buffer[] = [];
      return {
        push: (data) => void chunks.push(Buffer.from(data)),
        end: () => void contents.set(id, Buffer.concat(chunks)),
      };
    },
  });
  return contents;
}

/** A commit. Its text is in latin1, so that every byte is preserved. */
export interface Commit {
  tree: string;
  parents: string[];
  author: string;
  committer: string;
  /** Other headers, such as the encoding, with their continuation lines. */
  otherHeaders: string[];
  message: string;
  signature?: string | undefined;
}

/** Signatures are dropped, because they are invalid for another content, and so are merged tags. */
const droppedHeaders = /^(?:gpgsig|gpgsig-sha256|mergetag) /;

export function parseCommit(content: Buffer): Commit {
  const text = content.toString("latin1");
  const end = text.indexOf("\n\n");
  const headers = text.slice(0, end < 0 ? text.length : end).split(/\n(?! )/);
  const values = (name: string) =>
    headers.flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []));
  return {
    tree: values("tree")[0] ?? "",
    parents: values("parent"),
    author: values("author")[0] ?? "",
    committer: values("committer")[0] ?? "",
    otherHeaders: headers.filter(
      (line) => !/^(?:tree|parent|author|committer) /.test(line) && !droppedHeaders.test(line),
    ),
    message: end < 0 ? "" : text.slice(end + 2),
  };
}

export function formatCommit(commit: Commit): string {
  const { tree, parents, author, committer, otherHeaders, message, signature } = commit;
  const headers = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${author}`,
    `committer ${committer}`,
    ...otherHeaders.filter((line) => line !== ""),
    ...(signature ? [`gpgsig ${signature}`] : []),
  ];
  return `${headers.join("\n")}\n\n${message}`;
}

export async function writeCommit(outbox: Outbox, content: string): Promise<string> {
  const input = Buffer.from(content, "latin1");
  const id = await outbox.run(["hash-object", "-t", "commit", "-w", "--stdin"], {
    stdin: Readable.from([input]),
  });
  return id.trim();
}

function addTrailers(
  { message, author }: Commit,
  { coAuthor, signOff }: Pick<RewriteOptions, "coAuthor" | "signOff">,
): string {
  const authorName = author.replace(/ \d+ [+-]\d+$/, "");
  const coAuthorName = coAuthor && Buffer.from(`${coAuthor.name} <${coAuthor.email}>`).toString("latin1");
  const trailers = [
    ...(coAuthorName && coAuthorName !== authorName ? [`Co-authored-by: ${coAuthorName}`] : []),
    ...(signOff ? [`Signed-off-by: ${authorName}`] : []),
  ];
  const lines = new Set(message.split("\n").map((line) => line.trim().toLowerCase()));
  const missing = trailers.filter((trailer) => !lines.has(trailer.toLowerCase()));
  if (missing.length === 0) return message;
  const text = message.trimEnd();
  const last = text.slice(text.lastIndexOf("\n\n") + 2).split("\n");
  const hasTrailers = text.includes("\n\n") && last.every((line) => /^[A-Za-z0-9-]+: \S/.test(line));
  return `${text}${hasTrailers ? "\n" : "\n\n"}${missing.join("\n")}\n`;
}
