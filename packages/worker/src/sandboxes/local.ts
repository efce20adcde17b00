import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { assemble } from "./assemble.ts";
import { explain } from "./bubblewrap.ts";
import { listFolders, removeFolder } from "./folders.ts";
import { type Host, openHost } from "./host.ts";
import { type Capabilities, LimitNotEnforceableError } from "./limits.ts";
import type { LocalSandbox } from "./local-sandbox.ts";
import type { Base, Label, Log, Mount, OpenOptions, Sandbox, SandboxProvider } from "./sandbox.ts";

/**
 * Sandboxes on this host, each a folder below root, by bubblewrap. Without namespaces there is no sandbox: this
 * throws one sentence that says what to install or set, and never runs a command without walls.
 */
export async function openLocalProvider(options: {
  root: string;
  /** In every sandbox, besides what it is opened with. */
  mounts?: Mount[];
  /** Hears of each sandbox that could not be opened. */
  failed?: () => void;
  log: Log;
}): Promise<SandboxProvider> {
  if (process.platform !== "linux") throw new Error("Sandboxes need Linux: run the worker there.");
  // Passable: as root, the sandboxes' own user has to reach their folders in it.
  if (mkdirSync(options.root, { recursive: true }) !== undefined) chmodSync(options.root, 0o711);
  const sandboxes = new Map<string, LocalSandbox>();
  const onSwitchDeath = () => {
    for (const sandbox of sandboxes.values()) sandbox.killNow();
  };
  const host = await openHost({ root: realpathSync(options.root), log: options.log, onSwitchDeath }).catch(
    (error: Error) => {
      throw new Error(explain(error.message), { cause: error });
    },
  );
  const { mounts = [], failed = () => {} } = options;
  const provider = new LocalProvider({ host, sandboxes, mounts, failed });
  try {
    await provider.check();
    return provider;
  } catch (error) {
    await provider.stop();
    throw error;
  }
}

class LocalProvider implements SandboxProvider {
  readonly #host: Host;
  readonly #sandboxes: Map<string, LocalSandbox>;
  readonly #mounts: Mount[];
  readonly #failed: () => void;

  constructor(options: {
    host: Host;
    sandboxes: Map<string, LocalSandbox>;
    mounts: Mount[];
    failed: () => void;
  }) {
    this.#host = options.host;
    this.#sandboxes = options.sandboxes;
    this.#mounts = options.mounts;
    this.#failed = options.failed;
  }

  get group(): number | undefined {
    return this.#host.identity?.gid;
  }

  capabilities(): Capabilities {
    return this.#host.capabilities;
  }

  count(): number {
    return this.#sandboxes.size;
  }

  async open(options: OpenOptions): Promise<Sandbox> {
    try {
      return await this.#open(options);
    } catch (error) {
      // That a limit cannot hold here is an answer to who asked for it.
      if (!(error instanceof LimitNotEnforceableError)) this.#failed();
      throw error;
    }
  }

  async #open(options: OpenOptions): Promise<Sandbox> {
    const { id, deadline } = options;
    const watch = this.#host.switch;
    await watch.start();
    const onClosed = () => {
      this.#sandboxes.delete(id);
      watch.forget(id);
    };
    const sandbox = await assemble(this.#host, {
      ...options,
      mounts: [...this.#mounts, ...(options.mounts ?? [])],
      onClosed,
    });
    watch.setDeadline(id, deadline);
    this.#sandboxes.set(id, sandbox);
    return sandbox;
  }

  async keepBase(sandbox: Sandbox, name: string): Promise<void> {
    const own = this.#sandboxes.get(sandbox.id);
    if (own !== sandbox) throw new Error(`The sandbox ${sandbox.id} is not open here.`);
    await this.#host.bases.keep(name, (folder) => own.giveFiles(folder));
    await own.close();
  }

  listBases(): Base[] {
    return this.#host.bases.list();
  }

  async removeBase(name: string): Promise<void> {
    await this.#host.bases.remove(name);
  }

  async reap(keep: (label: Label) => boolean): Promise<string[]> {
    const { root, bases, cgroups, grounds, log } = this.#host;
    const removed: string[] = [];
    const keptLabels = listFolders(root).filter(({ label }) => keep(label));
    const groups = [...this.#sandboxes.keys(), ...keptLabels.map(({ id }) => id)];
    await cgroups.reap(groups).catch((error) => log.warn({ error }, "cannot remove what is left of a group"));
    for (const { id, label } of listFolders(root)) {
      if (this.#sandboxes.has(id) || keep(label)) continue;
      try {
        await removeFolder(join(root, id));
        removed.push(id);
      } catch (error) {
        log.warn({ id, error }, "cannot remove what is left of a sandbox");
      }
    }
    await Promise.all([bases.reap(), grounds.reap()]).catch((error) =>
      log.warn({ error }, "cannot remove what is left of a base or a spare"),
    );
    return removed;
  }

  async check(): Promise<void> {
    const deadline = process.hrtime.bigint() + 60_000_000_000n;
    const sandbox = await this.open({ id: `check-${randomUUID()}`, deadline, label: { purpose: "check" } });
    const signal = AbortSignal.timeout(60_000);
    try {
      const { exitCode } = await sandbox.exec("true", { signal, timeoutMs: 60_000, onOutput: () => {} });
      if (exitCode !== 0)
        throw new Error(`A sandbox does not get as far as \`true\`: exit code ${exitCode}.`);
    } catch (error) {
      await sandbox.close().catch(() => {}); // the first failure says more
      throw error;
    }
    await sandbox.close();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#sandboxes.values()].map((sandbox) => sandbox.leave()));
    await this.#host.switch.stop();
    await this.#host.networks.close();
    await this.#host.grounds.close();
    this.#host.fifos.close();
  }
}
