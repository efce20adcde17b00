import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { makeEtc } from "./etc.ts";
import { listFolders, makeFolder, removeFolder } from "./folders.ts";
import { Identities } from "./identities.ts";
import { LocalSandbox } from "./local-sandbox.ts";
import { Pipes } from "./pipes.ts";
import type { Label, Log, Sandbox, SandboxProvider } from "./sandbox.ts";
import { Switch } from "./switch.ts";

/**
 * Sandboxes on this host, each a folder below root, by bubblewrap. Without namespaces there is no sandbox: this
 * throws one sentence that says what to install or set, and never runs a command without walls.
 */
export async function openLocalProvider(options: { root: string; log: Log }): Promise<SandboxProvider> {
  if (process.platform !== "linux") throw new Error("Sandboxes need Linux: run the worker there.");
  // Passable: as root, the sandboxes' own users have to reach their folders in it.
  if (mkdirSync(options.root, { recursive: true }) !== undefined) chmodSync(options.root, 0o711);
  const provider = new LocalProvider({
    root: realpathSync(options.root),
    log: options.log,
    identities: await Identities.claim(),
  });
  try {
    await provider.check();
    return provider;
  } catch (error) {
    await provider.stop();
    throw error;
  }
}

class LocalProvider implements SandboxProvider {
  readonly #root: string;
  readonly #log: Log;
  readonly #etc: string[];
  readonly #identities: Identities;
  readonly #pipes: Pipes;
  readonly #switch: Switch;
  readonly #sandboxes = new Map<string, LocalSandbox>();

  constructor(options: { root: string; log: Log; identities: Identities }) {
    this.#root = options.root;
    this.#log = options.log;
    this.#identities = options.identities;
    this.#etc = makeEtc(join(options.root, ".etc"));
    this.#pipes = new Pipes(options.root);
    const killAll = () => {
      for (const sandbox of this.#sandboxes.values()) sandbox.killNow();
    };
    this.#switch = new Switch({ log: options.log, onDeath: killAll });
  }

  async open({ id, deadline, label }: { id: string; deadline: bigint; label: Label }): Promise<Sandbox> {
    await this.#switch.start();
    const identity = this.#identities.take();
    try {
      const folder = makeFolder({ root: this.#root, id, label, identity });
      const sandbox = new LocalSandbox({
        ...{ id, folder, identity, etc: this.#etc, switch: this.#switch, pipes: this.#pipes, log: this.#log },
        onClosed: () => {
          this.#sandboxes.delete(id);
          this.#identities.release(identity);
        },
      });
      this.#switch.setDeadline(id, deadline);
      this.#sandboxes.set(id, sandbox);
      return sandbox;
    } catch (error) {
      this.#identities.release(identity);
      throw error;
    }
  }

  async reap(keep: (label: Label) => boolean): Promise<string[]> {
    const removed: string[] = [];
    for (const { id, label } of listFolders(this.#root)) {
      if (this.#sandboxes.has(id) || keep(label)) continue;
      try {
        await removeFolder(join(this.#root, id));
        removed.push(id);
      } catch (error) {
        this.#log.warn({ id, error }, "cannot remove what is left of a sandbox");
      }
    }
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
    await Promise.all([...this.#sandboxes.values()].map((sandbox) => sandbox.kill()));
    await this.#switch.stop();
    this.#pipes.close();
    this.#identities.close();
  }
}
