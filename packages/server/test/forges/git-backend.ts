import { execFile, spawn } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const identity = {
  GIT_AUTHOR_NAME: "Test",
  GIT_AUTHOR_EMAIL: "test@example.com",
  GIT_COMMITTER_NAME: "Test",
  GIT_COMMITTER_EMAIL: "test@example.com",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
};

/** Runs git in a bare repository and returns its output. */
export async function git(folder: string, ...args: string[]): Promise<string> {
  const { stdout } = await run("git", ["-C", folder, ...args], {
    env: { PATH: process.env.PATH, ...identity },
  });
  return stdout.trim();
}

/** Creates a bare repository with one commit of README.md on `main`. */
export async function createBareRepository(folder: string): Promise<void> {
  await run("git", ["init", "-q", "--bare", "--template=", "-b", "main", folder]);
  await git(folder, "config", "http.receivepack", "true");
  await commitFile(folder, { branch: "main", path: "README.md", content: "# Test\n", message: "Begin" });
}

/** Commits one file to a branch of a bare repository and returns the commit. */
export async function commitFile(
  folder: string,
  { branch, path, content, message }: { branch: string; path: string; content: string; message: string },
): Promise<string> {
  const parent = await git(folder, "rev-parse", "--verify", "-q", `refs/heads/${branch}`).catch(() => "");
  const blob = await withInput(folder, content, "hash-object", "-w", "--stdin");
  const index = { GIT_INDEX_FILE: join(folder, `index-${process.pid}-${Math.random()}`) };
  const inIndex = async (...args: string[]) => {
    const env = { PATH: process.env.PATH, ...identity, ...index };
    return (await run("git", ["-C", folder, ...args], { env })).stdout.trim();
  };
  if (parent) await inIndex("read-tree", parent);
  await inIndex("update-index", "--add", "--cacheinfo", `100644,${blob},${path}`);
  const tree = await inIndex("write-tree");
  const commit = await git(folder, "commit-tree", tree, "-m", message, ...(parent ? ["-p", parent] : []));
  await git(folder, "update-ref", `refs/heads/${branch}`, commit);
  return commit;
}

async function withInput(folder: string, input: string, ...args: string[]): Promise<string> {
  const child = spawn("git", ["-C", folder, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(input);
  let output = "";
  for await (const chunk of child.stdout) output += chunk;
  return output.trim();
}

/** Serves git's smart HTTP protocol for the bare repositories below `root`, with git's own CGI program. */
export function serveGit(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://localhost");
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      REMOTE_USER: "test",
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      ...(request.headers["content-encoding"]
        ? { HTTP_CONTENT_ENCODING: request.headers["content-encoding"] }
        : {}),
      ...(request.headers["git-protocol"] ? { GIT_PROTOCOL: String(request.headers["git-protocol"]) } : {}),
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  request.pipe(child.stdin).on("error", () => {});
  let head = Buffer.alloc(0);
  let isBody = false;
  child.stdout.on("data", (chunk: Buffer) => {
    if (isBody) return response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    isBody = true;
    for (const line of head.subarray(0, end).toString("latin1").split("\r\n")) {
      const [name = "", value = ""] = line.split(/:\s*/, 2);
      if (name.toLowerCase() === "status") response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
  });
  child.on("close", () => response.end());
}
