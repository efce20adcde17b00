/**
 * Opens a connection to a container engine: Docker, or Podman with its Docker-compatible API.
 *
 * - Every call through the client has a time limit, so that an engine that hangs cannot hang a run. Calls with a stream have
 *   it only until the stream begins. Uploads have it between two chunks. See limit-calls.ts.
 * - Every failure is an EngineError.
 * - An engine gives its clients root on its machine. TCP without TLS is therefore refused, except on this machine.
 */
import { lstatSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type Docker from "dockerode";
import { EngineError, explainEngineError, isEngineError } from "./errors.ts";
import { limitCalls } from "./limit-calls.ts";

export interface EngineOptions {
  /** `unix:///path`, `tcp://host:port`, or the path of a socket. Default: the first of the usual sockets that responds. */
  host?: string | undefined;
  /** The folder with ca.pem, cert.pem and key.pem. The connection then uses TLS. */
  certPath?: string | undefined;
  /** Use TLS even without `certPath`, with the files in ~/.docker. */
  tlsVerify?: boolean | undefined;
  /** The user's folder for sockets. Default: /run/user/<uid>. */
  runtimeFolder?: string | undefined;
  /** The limit of calls that are usually fast. Slow ones have a multiple of it. */
  timeoutMs?: number;
}

export interface Engine {
  /** The client. Its calls have time limits and reject with an EngineError. Pass `abortSignal` to cancel a call. */
  readonly docker: Docker;
  /** For messages, such as `unix:///var/run/docker.sock`. */
  readonly address: string;
  /** The version of the API that the client uses. */
  readonly apiVersion: string;
}

/** Docker 20.10 and Podman 4 have it. */
const oldestApiVersion = "1.41";
/** The newest version that this code was written for. Engines support older versions of their API. */
const newestApiVersion = "1.51";
const defaultTimeoutMs = 120_000;
/** How long an engine may take to respond at all. */
const PING_TIMEOUT_MS = 20_000;

/** Connects to an engine and checks that it responds and is new enough. */
export async function openEngine(options: EngineOptions = {}): Promise<Engine> {
  if (options.host !== undefined) return await connect(parseAddress(options.host, options), options);
  let firstError: unknown;
  for (const path of usualSockets(options).filter(isSocket)) {
    try {
      return await connect({ socketPath: path, address: `unix://${path}` }, options);
    } catch (error) {
      firstError ??= error;
    }
  }
  throw (
    firstError ??
    new EngineError(
      "unreachable",
      "No container engine runs on this machine. Start Docker or Podman, or set OUTRIDER_DOCKER_HOST (--docker-host) to the address of one.",
    )
  );
}

function usualSockets({ runtimeFolder = `/run/user/${process.getuid?.() ?? 0}` }: EngineOptions): string[] {
  return [
    "/var/run/docker.sock",
    join(runtimeFolder, "docker.sock"),
    join(homedir(), ".docker/run/docker.sock"),
    "/run/podman/podman.sock",
    join(runtimeFolder, "podman/podman.sock"),
    // On macOS
    join(homedir(), ".colima/default/docker.sock"),
    join(homedir(), ".local/share/containers/podman/machine/podman.sock"),
  ];
}

/** It may be a link, for example of Docker Desktop. */
function isSocket(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat !== undefined && (stat.isSocket() || stat.isSymbolicLink());
}

interface Address {
  address: string;
  socketPath?: string;
  host?: string;
  port?: number;
  tls?: { ca: Buffer; cert: Buffer; key: Buffer };
}

const setAddress = "Set OUTRIDER_DOCKER_HOST (--docker-host) to unix:///path/of/socket or tcp://host:port";

function parseAddress(text: string, { certPath, tlsVerify }: EngineOptions): Address {
  const invalid = (problem: string) =>
    new EngineError("failed", `The address of the container engine ${problem}. ${setAddress}.`);
  const socketPath = text.startsWith("/") ? text : /^unix:\/\/(.*)$/.exec(text)?.[1];
  if (socketPath !== undefined) {
    if (!socketPath.startsWith("/")) throw invalid("must contain the absolute path of a socket");
    return { socketPath, address: `unix://${socketPath}` };
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !["tcp:", "http:", "https:"].includes(url.protocol)) throw invalid("has an unknown form");
  if (url.username || url.password) throw invalid("must not contain a password");
  const usesTls = certPath !== undefined || tlsVerify === true || url.protocol === "https:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = Number(url.port) || (usesTls ? 2376 : 2375);
  const address = `tcp://${url.hostname}:${port}`;
  if (usesTls) return { address, host, port, tls: readCertificates(certPath ?? join(homedir(), ".docker")) };
  if (!isLoopback(host))
    throw new EngineError(
      "tls",
      `The container engine at ${address} must be used with TLS, because its clients control its machine. Set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to the folder with ca.pem, cert.pem and key.pem.`,
    );
  return { address, host, port };
}

const isLoopback = (host: string) =>
  host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);

function readCertificates(folder: string): { ca: Buffer; cert: Buffer; key: Buffer } {
  const read = (name: string) => {
    try {
      return readFileSync(join(folder, name));
    } catch (error) {
      throw new EngineError(
        "tls",
        `${join(folder, name)} cannot be read (${(error as NodeJS.ErrnoException).code}). Set DOCKER_CERT_PATH to a folder with ca.pem, cert.pem and key.pem.`,
        { cause: error },
      );
    }
  };
  return { ca: read("ca.pem"), cert: read("cert.pem"), key: read("key.pem") };
}

async function connect({ address, ...target }: Address, options: EngineOptions): Promise<Engine> {
  const { timeoutMs = defaultTimeoutMs } = options;
  const limits = { address, usesTls: target.tls !== undefined };
  const probe = await createClient(target);
  limitCalls(probe, { ...limits, timeoutMs: Math.min(timeoutMs, PING_TIMEOUT_MS) });
  const apiVersion = chooseVersion(await readVersion(probe, address));
  const docker = await createClient({ ...target, version: `v${apiVersion}` });
  limitCalls(docker, { ...limits, timeoutMs });
  return { docker, address, apiVersion };
}

type ClientTarget = Omit<Address, "address"> & { version?: string };

/**
 * The library takes everything that is not set here from DOCKER_HOST and related variables, so every option is set. It is
 * loaded only here, because it is large and workers with other sandboxes do not need it.
 */
async function createClient({ socketPath, host, port, tls, version }: ClientTarget): Promise<Docker> {
  const { default: DockerClient } = await import("dockerode");
  const options = {
    ...{ socketPath, host, port, version, protocol: tls ? ("https" as const) : ("http" as const) },
    ...{ ca: tls?.ca, cert: tls?.cert, key: tls?.key, username: undefined, timeout: undefined, headers: {} },
    pathPrefix: "/",
  };
  try {
    return new DockerClient(options);
  } catch (error) {
    // It reads the files of DOCKER_CERT_PATH even if it does not use them.
    throw explainEngineError(error, "DOCKER_HOST");
  }
}

async function readVersion(docker: Docker, address: string): Promise<{ newest: string; oldest: string }> {
  const notAnEngine = (cause?: unknown) =>
    new EngineError(
      "unreachable",
      `${address} is not the address of a container engine. Set OUTRIDER_DOCKER_HOST (--docker-host) to the address of Docker or Podman.`,
      { cause },
    );
  const version: Partial<Docker.DockerVersion> = await docker.version().catch((error) => {
    throw isEngineError(error, "failed", "not_found") ? notAnEngine(error) : error;
  });
  const { ApiVersion: newest, MinAPIVersion: oldest = newest } = version;
  if (typeof newest !== "string" || typeof oldest !== "string" || !/^\d+\.\d+$/.test(newest))
    throw notAnEngine();
  return { newest, oldest };
}

function chooseVersion({ newest, oldest }: { newest: string; oldest: string }): string {
  if (isOlder(newest, oldestApiVersion))
    throw new EngineError(
      "unsupported_version",
      `The container engine is too old: its API has version ${newest}, and ${oldestApiVersion} is needed. Install Docker 20.10 or later, or Podman 4 or later.`,
    );
  if (isOlder(newest, newestApiVersion)) return newest;
  return isOlder(newestApiVersion, oldest) ? oldest : newestApiVersion;
}

function isOlder(version: string, other: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [otherMajor = 0, otherMinor = 0] = other.split(".").map(Number);
  return major < otherMajor || (major === otherMajor && minor < otherMinor);
}
