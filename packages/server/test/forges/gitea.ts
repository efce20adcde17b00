import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { promisify } from "node:util";
import { vi } from "vitest";
import { freePort } from "../../../../scripts/tests/free-port.ts";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../../../..");
const password = "Passw0rd!";

/** The paths of a certificate, its key and the authority that has issued it. */
export interface TlsFiles {
  cert: string;
  key: string;
  ca: string;
}

export interface Gitea {
  url: string;
  /** Tokens of the admin `tester`, with all scopes, and of others. */
  token: string;
  newUser(name: string): Promise<string>;
  newToken(user: string, scopes: string[]): Promise<{ token: string; revoke(): Promise<void> }>;
  /** Calls the API as a user, and returns the parsed response. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  call(token: string, method: string, path: string, body?: unknown): Promise<any>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a real Gitea on a local port. `scripts/gitea` builds it first if necessary. This process trusts `tls.ca`. */
export async function startGitea(options: { tls?: TlsFiles } = {}): Promise<Gitea> {
  const { stdout } = await run(join(root, "scripts/gitea"), { timeout: 20 * 60_000 });
  const program = stdout.trim();
  const work = await mkdtemp(join(tmpdir(), "outrider-gitea-"));
  if (options.tls)
    setDefaultCACertificates([...getCACertificates("default"), await readFile(options.tls.ca, "utf8")]);
  const port = await freePort();
  const url = `${options.tls ? "https" : "http"}://127.0.0.1:${port}`;
  const config = join(work, "app.ini");
  await mkdir(join(work, "home"));
  await writeFile(config, settings({ program, work, port, url, ...options }));
  const env = { PATH: process.env.PATH, HOME: join(work, "home"), GITEA_WORK_DIR: work };
  const command = (...args: string[]) => run(join(program, "gitea"), ["--config", config, ...args], { env });
  const newUser = async (name: string, ...more: string[]) => {
    const identity = ["--username", name, "--password", password, "--email", `${name}@example.com`];
    await command("admin", "user", "create", ...identity, "--must-change-password=false", ...more);
  };
  const start = async () => {
    const child = spawn(join(program, "gitea"), ["--config", config, "web"], { env, stdio: "ignore" });
    await vi.waitFor(async () => expectOk(await fetch(`${url}/api/v1/version`)), waitOptions);
    return child;
  };
  await command("migrate");
  await newUser("tester", "--admin");
  let child = await start();
  const newToken: Gitea["newToken"] = async (user, scopes) => {
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
    const send = (method: string, path: string, body?: unknown) =>
      fetch(`${url}/api/v1/users/${user}/tokens${path}`, {
        method,
        headers: { authorization, "content-type": "application/json" },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
    const name = `token-${Math.random()}`;
    const { sha1 } = (await (await send("POST", "", { name, scopes })).json()) as { sha1: string };
    return {
      token: sha1,
      revoke: async () => {
        expectOk(await send("DELETE", `/${name}`));
      },
    };
  };
  const pause = async () => {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  };
  const { token } = await newToken("tester", ["all"]);
  return {
    url,
    token,
    async newUser(name) {
      await newUser(name);
      return (await newToken(name, ["all"])).token;
    },
    newToken,
    async call(as, method, path, body) {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: { authorization: `token ${as}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return text === "" ? undefined : JSON.parse(text);
    },
    pause,
    async resume() {
      child = await start();
    },
    async close() {
      if (child.exitCode === null) await pause();
      await rm(work, { recursive: true, force: true });
    },
  };
}

function expectOk(response: Response): void {
  if (!response.ok) throw new Error(`${response.url}: ${response.status}`);
}

interface Settings {
  program: string;
  work: string;
  port: number;
  url: string;
  tls?: TlsFiles;
}

function settings({ program, work, port, url, tls }: Settings): string {
  return `
APP_NAME = test
RUN_USER = ${userInfo().username}
RUN_MODE = prod
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = ${work}
[server]
${tls ? `PROTOCOL = https\nCERT_FILE = ${tls.cert}\nKEY_FILE = ${tls.key}` : ""}
STATIC_ROOT_PATH = ${program}/src
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = ${url}/
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = ${work}/gitea.db
[repository]
ROOT = ${work}/repositories
[security]
INSTALL_LOCK = true
SECRET_KEY = test
INTERNAL_TOKEN = eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJuYmYiOjE3MDAwMDAwMDB9.c2lnbmF0dXJlLW9mLWEtdGVzdC10b2tlbi0tLS0
[indexer]
ISSUE_INDEXER_TYPE = db
[log]
LEVEL = Error
`;
}
