import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../../../scripts/tests/free-port.ts";

/** Git servers on loopback: http with Basic auth and git's own backend, and ssh with Debian's sshd. */

const sshd = "/usr/sbin/sshd";
const user = { GIT_AUTHOR_NAME: "test", GIT_AUTHOR_EMAIL: "test@example.com" };
const env = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  ...user,
  GIT_COMMITTER_NAME: user.GIT_AUTHOR_NAME,
  GIT_COMMITTER_EMAIL: user.GIT_AUTHOR_EMAIL,
};

export function git(cwd: string, ...args: string[]): string {
  return execFileSync("git", args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

/** Runs git with an input. */
export function gitWithInput(cwd: string, input: string | Buffer, ...args: string[]): string {
  return execFileSync("git", args, {
    cwd,
    env,
    encoding: "utf8",
    input,
    stdio: ["pipe", "pipe", "pipe"],
  }).trim();
}

export function makeFolder(): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "outrider-git-"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A bare repository and a working copy from which tests push to it. */
export class Origin {
  readonly bare: string;
  readonly copy: string;

  constructor(folder: string, name: string) {
    this.bare = join(folder, `${name}.git`);
    this.copy = join(folder, `${name}.copy`);
    git("/", "init", "--quiet", "--bare", "--initial-branch=main", this.bare);
    git("/", "init", "--quiet", "--initial-branch=main", this.copy);
    git(this.copy, "remote", "add", "origin", this.bare);
  }

  run(...args: string[]): string {
    return git(this.copy, ...args);
  }

  /** Commits files, force-pushes them to a branch and returns the commit. */
  push(branch: string, files: Record<string, string>, ...options: string[]): string {
    const commit = this.commit(files, `change of ${Object.keys(files)}`, ...options);
    this.run("push", "--quiet", "--force", "origin", `HEAD:refs/heads/${branch}`);
    return commit;
  }

  /** Commits files in the working copy and returns the commit. */
  commit(files: Record<string, string>, message: string, ...options: string[]): string {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.copy, path)), { recursive: true });
      writeFileSync(join(this.copy, path), text);
    }
    this.run("add", "--all", "--force");
    this.run("commit", "--quiet", "--allow-empty", "--message", message, ...options);
    return this.run("rev-parse", "HEAD");
  }
}

export interface HttpServer {
  /** `127.0.0.1:port`. */
  host: string;
  /** Every request, in order. */
  requests: { method: string; url: string; authorization: string | undefined }[];
  /** Called for each request before git handles it. It may end the response itself. */
  before: (request: IncomingMessage, response: ServerResponse) => Promise<unknown> | unknown;
  /** Called after each part of a response with the bytes sent so far. Sending pauses until it resolves. */
  sent: (bytes: number) => Promise<unknown> | unknown;
  /** Aborts all running requests. */
  disconnect(): void;
  stop(): Promise<void>;
}

/** Serves the repositories of a folder. With a login (`user:password`), it requires that login. With `tls`, it serves https. */
export async function serveHttp(
  folder: string,
  login?: string,
  { tls }: { tls?: { key: Buffer; cert: Buffer } } = {},
): Promise<HttpServer> {
  const backend = join(git("/", "--exec-path"), "git-http-backend");
  const children = new Set<ChildProcess>();
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = "", url = "", headers } = request;
    self.requests.push({ method, url, authorization: headers.authorization });
    await self.before(request, response);
    if (response.writableEnded) return;
    if (login && headers.authorization !== `Basic ${Buffer.from(login).toString("base64")}`) {
      // Like an overly helpful server, it echoes the credential that it received.
      const given = Buffer.from((headers.authorization ?? "").slice(6), "base64").toString();
      response.writeHead(401, { "www-authenticate": 'Basic realm="test"', "content-type": "text/plain" });
      return response.end(`You sent ${given}\n`);
    }
    const [path = "", query = ""] = url.split("?");
    const child = spawn(backend, {
      stdio: ["pipe", "pipe", "inherit"],
      env: {
        ...env,
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: "1",
        REQUEST_METHOD: method,
        PATH_INFO: decodeURIComponent(path),
        QUERY_STRING: query,
        CONTENT_TYPE: headers["content-type"] ?? "",
        HTTP_CONTENT_ENCODING: headers["content-encoding"] ?? "",
        GIT_PROTOCOL: (headers["git-protocol"] as string) ?? "",
        REMOTE_USER: "test",
      },
    });
    children.add(child);
    child.once("close", () => children.delete(child));
    child.stdin.on("error", () => {});
    request.pipe(child.stdin);
    let head = Buffer.alloc(0);
    child.stdout.on("data", function onHead(data: Buffer) {
      head = Buffer.concat([head, data]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      child.stdout.off("data", onHead);
      const lines = head.subarray(0, end).toString().split("\r\n");
      const fields = lines.map((line) => line.split(": ") as [string, string]);
      const status = fields.find(([name]) => name === "Status")?.[1];
      response.writeHead(Number(status?.slice(0, 3) ?? 200), Object.fromEntries(fields));
      child.stdout.unshift(head.subarray(end + 4));
      void sendBody(child.stdout, response);
    });
  };
  const server = tls ? createTlsServer(tls, handle) : createServer(handle);
  const sendBody = async (body: Readable, response: ServerResponse) => {
    let sent = 0;
    for await (const chunk of body) {
      response.write(chunk);
      sent += chunk.length;
      await self.sent(sent);
    }
    response.end();
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const self: HttpServer = {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    before: () => {},
    sent: () => {},
    disconnect() {
      for (const child of children) child.kill("SIGKILL");
      server.closeAllConnections();
    },
    async stop() {
      self.disconnect();
      server.close();
      await once(server, "close");
    },
  };
  return self;
}

export interface SshServer {
  port: number;
  user: string;
  /** The private key that it accepts. */
  key: string;
  /** Restarts with another host key on the same port. */
  changeHostKey(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts an sshd that accepts one key, for the user who runs the test. Its sessions find programs in the folder. */
export async function serveSsh(folder: string): Promise<SshServer> {
  if (!existsSync(sshd)) throw new Error("The tests of git over ssh require sshd: install openssh-server.");
  chmodSync(folder, 0o755);
  const makeKey = (name: string) => {
    rmSync(join(folder, name), { force: true });
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", join(folder, name)]);
    return join(folder, name);
  };
  const login = makeKey("login");
  const port = await freePort();
  const settings = () => [
    `Port=${port}`,
    "ListenAddress=127.0.0.1",
    `HostKey=${makeKey("host")}`,
    `AuthorizedKeysFile=${login}.pub`,
    "PidFile=none",
    `SetEnv=PATH=${folder}:/usr/local/bin:/usr/bin:/bin`,
    "StrictModes=no",
    "UsePAM=no",
    "PasswordAuthentication=no",
    "KbdInteractiveAuthentication=no",
    "PermitRootLogin=prohibit-password",
  ];
  // As root, sshd requires this folder, which the system's service would create.
  if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true, mode: 0o755 });
  let child: ChildProcess;
  const start = async () => {
    child = spawn(
      sshd,
      ["-D", "-e", "-f", "/dev/null", ...settings().flatMap((setting) => ["-o", setting])],
      {
        stdio: "ignore",
      },
    );
    for (const end = performance.now() + 10_000; !(await isResponding(port)); await delay(10)) {
      if (performance.now() > end) throw new Error("sshd did not respond within 10 s.");
    }
  };
  const stop = async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  await start();
  return {
    port,
    user: userInfo().username,
    key: readFileSync(login, "utf8"),
    stop,
    async changeHostKey() {
      await stop();
      rmSync(join(folder, "host.pub"), { force: true });
      await start();
    },
  };
}

function isResponding(port: number): Promise<boolean> {
  return new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const settle = (responds: boolean) => {
      socket.destroy();
      resolve(responds);
    };
    socket.once("data", () => settle(true)).once("error", () => settle(false));
    socket.setTimeout(1_000, () => settle(false));
  });
}
