/**
 * Real container engines for tests: private ones that leave nothing behind, even if the test process is killed. See
 * run-engine.sh. scripts/setup downloads their programs.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { openEngine } from "../../src/sandboxes/docker/engine/connect.ts";

export interface TestEngine {
  readonly kind: "docker" | "podman";
  readonly socketPath: string;
  /** As in DOCKER_HOST. */
  readonly host: string;
  /** Everything that the engine stores is below it. */
  readonly folder: string;
  /** Stops the engine as an operator would, and starts it again. Docker stops its containers. */
  restart(): Promise<void>;
  /** Kills the engine's process, but not its containers. */
  kill(): Promise<void>;
  /** Starts the engine after `kill`. */
  start(): Promise<void>;
  /** Stops the engine's process with SIGSTOP until `resume`, so that it accepts connections but does not respond. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Removes the engine with its containers. */
  stop(): Promise<void>;
  readLog(): string;
}

/** Why tests that use an engine are skipped, as those that fill a disk are. shared-docker.ts prints it. */
export const engineProblem =
  process.platform === "linux" && process.getuid?.() === 0
    ? undefined
    : "the tests start engines of their own, which need root on Linux";
export const canRunEngines = engineProblem === undefined;

const enginesFolder = resolve(import.meta.dirname, "../../../../.tools/engines");
const programFolders = ["usr/bin", "usr/sbin"].map((folder) => join(enginesFolder, folder));
const libraryFolder = join(
  enginesFolder,
  `usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`,
);

export interface DockerOptions {
  /** More arguments of dockerd. */
  args?: string[];
  /** Whether it has gVisor's runtime, with the name `runsc`. */
  hasGvisor?: boolean;
  /** Whether it stores its data on the disk, as benchmarks need it, instead of in memory. */
  isOnDisk?: boolean;
  /** The size of the memory for its data, for tests that fill it. Default: half of this machine's memory. */
  dataMb?: number;
}

/** Starts Docker in about 2 s. Its containers can have no network, but it can reach registries on localhost. */
export async function startDocker(options: DockerOptions = {}): Promise<TestEngine> {
  const { args = [], hasGvisor = false, isOnDisk = false, dataMb } = options;
  const folder = makeFolder();
  const runtimes = hasGvisor ? [`--add-runtime=runsc=${writeGvisorWrapper(folder)}`] : [];
  return await startEngine({
    kind: "docker",
    folder,
    program: "dockerd",
    args: [
      `--host=unix://${join(folder, "engine.sock")}`,
      `--data-root=${join(folder, "data")}`,
      `--exec-root=${join(folder, "exec")}`,
      `--pidfile=${join(folder, "pid")}`,
      "--storage-driver=overlay2",
      ...["--exec-opt=native.cgroupdriver=cgroupfs", `--cgroup-parent=/${basename(folder)}`],
      // Root in a container of CI may not be able to raise the limit.
      "--default-ulimit=nofile=16384:16384",
      ...["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"],
      ...[...runtimes, ...args],
    ],
    env: {
      ...(isOnDisk ? { ENGINE_ON_DISK: "1" } : {}),
      ...(dataMb === undefined ? {} : { ENGINE_DATA_MB: String(dataMb) }),
    },
  });
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "outrider-engine-"));
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "data"));
  return folder;
}

/**
 * The platform needs no hardware virtualization. Without the overlay, the engine sees the changes of a container's system,
 * which a build stores.
 */
function writeGvisorWrapper(folder: string): string {
  const path = join(folder, "runsc");
  writeFileSync(
    path,
    `#!/bin/sh\nexec ${findProgram("runsc")} --platform=systrap --overlay2=none --network=none "$@"\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

function findProgram(name: string): string {
  return programFolders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? name;
}

/** Starts the Docker-compatible API of Podman. */
export async function startPodman(): Promise<TestEngine> {
  const folder = makeFolder();
  return await startEngine({
    kind: "podman",
    folder,
    program: "podman",
    args: ["system", "service", "--time=0", `unix://${join(folder, "engine.sock")}`],
    env: writePodmanConfig(folder),
  });
}

function writePodmanConfig(folder: string): Record<string, string> {
  const seccomp = join(enginesFolder, "usr/share/containers/seccomp.json");
  const files = {
    "containers.conf": `
[containers]
default_ulimits = ["nofile=16384:16384", "nproc=32768:32768"]
${existsSync(seccomp) ? `seccomp_profile = "${seccomp}"` : ""}
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
conmon_path = ["${findProgram("conmon")}"]
exit_command_delay = 10
[engine.runtimes]
runc = ["${findProgram("runc")}"]
runsc = ["${writeGvisorWrapper(folder)}"]
`,
    "storage.conf": `[storage]\ndriver="overlay"\ngraphroot="${folder}/data/storage"\nrunroot="${folder}/data/run"\n`,
    "registries.conf": `unqualified-search-registries = []\n[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n`,
  };
  mkdirSync(join(folder, "tmp"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return {
    CONTAINERS_CONF: join(folder, "containers.conf"),
    CONTAINERS_STORAGE_CONF: join(folder, "storage.conf"),
    CONTAINERS_REGISTRIES_CONF: join(folder, "registries.conf"),
    ENGINE_POLICY: `{"default":[{"type":"insecureAcceptAnything"}]}`,
    TMPDIR: join(folder, "tmp"),
  };
}

interface EngineProgram {
  kind: TestEngine["kind"];
  folder: string;
  program: string;
  args: string[];
  env: Record<string, string>;
}

async function startEngine({ kind, folder, program, args, env }: EngineProgram): Promise<TestEngine> {
  const supervisor = spawn("bash", [join(import.meta.dirname, "run-engine.sh"), folder, program, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
    // A signal for the tests' process group must not end it before it has cleaned up.
    detached: true,
    env: {
      ...{
        PATH: [...programFolders, process.env.PATH].join(":"),
        HOME: folder,
        ENGINE_LIBRARIES: libraryFolder,
      },
      ...env,
    },
  });
  const exited = once(supervisor, "exit");
  const replies = createInterface({ input: supervisor.stdout })[Symbol.asyncIterator]();
  const socketPath = join(folder, "engine.sock");
  const send = async (command: string) => {
    supervisor.stdin.write(`${command}\n`);
    const { done } = await replies.next();
    if (done) throw new Error(`run-engine.sh ended instead of doing ${command}`);
  };
  const readLog = () => readFileSync(join(folder, "log"), "utf8");
  const stop = async () => {
    supervisor.stdin.end();
    await exited;
  };
  const start = async () => {
    await send("start");
    await waitUntilReady(
      `unix://${socketPath}`,
      () => `${program} does not start:\n${readLog().slice(-4_000)}`,
    );
  };
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    ...{ kind, socketPath, host: `unix://${socketPath}`, folder, start, stop, readLog },
    async restart() {
      await send("kill TERM");
      await start();
    },
    kill: () => send("kill KILL"),
    pause: () => send("kill STOP"),
    resume: () => send("kill CONT"),
  };
}

const START_MS = 60_000;

async function waitUntilReady(host: string, describe: () => string): Promise<void> {
  const deadline = Date.now() + START_MS;
  for (;;) {
    try {
      await openEngine({ host });
      return;
    } catch (error) {
      if (Date.now() > deadline) throw new Error(describe(), { cause: error });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
