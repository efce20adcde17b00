import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";

const PORT = 5432;

/**
 * Simulates a database machine: an address in its own network namespace that relays to a PostgreSQL. After `losePower`,
 * packets to the address are dropped and connections stay open. `replaceHost` gives the address to a new machine.
 */
export class DatabaseHost {
  readonly #socket: string;
  readonly #net = `198.18.${randomInt(1, 255)}`;
  readonly #vethPair: { ours: string; theirs: string };
  readonly #namespaces: string[] = [];
  #relay: ChildProcess | undefined;

  private constructor(socket: string) {
    this.#socket = socket;
    const id = randomBytes(3).toString("hex");
    this.#vethPair = { ours: `or${id}a`, theirs: `or${id}b` };
  }

  /** Starts a host that relays to the PostgreSQL behind a unix socket. */
  static async start(socket: string): Promise<DatabaseHost> {
    const host = new DatabaseHost(socket);
    const { ours, theirs } = host.#vethPair;
    const namespace = host.#newNamespace();
    ip("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", namespace);
    ip("addr", "add", `${host.#net}.1/30`, "dev", ours);
    ip("link", "set", ours, "up");
    await host.#bringUp(namespace);
    return host;
  }

  get address(): string {
    return `${this.#net}.2:${PORT}`;
  }

  losePower(): void {
    ip("-n", this.#namespaces.at(-1) as string, "link", "set", this.#vethPair.theirs, "down");
    this.#relay?.kill("SIGKILL");
  }

  /** Moves the address to a new machine, which does not know the old connections. */
  async replaceHost(): Promise<void> {
    const lost = this.#namespaces.at(-1) as string;
    const namespace = this.#newNamespace();
    ip("-n", lost, "link", "set", this.#vethPair.theirs, "netns", namespace);
    await this.#bringUp(namespace);
  }

  remove(): void {
    this.#relay?.kill("SIGKILL");
    for (const namespace of this.#namespaces) ip("netns", "del", namespace);
  }

  #newNamespace(): string {
    const namespace = `outrider-${randomBytes(4).toString("hex")}`;
    ip("netns", "add", namespace);
    this.#namespaces.push(namespace);
    return namespace;
  }

  async #bringUp(namespace: string): Promise<void> {
    const { theirs } = this.#vethPair;
    ip("-n", namespace, "addr", "add", `${this.#net}.2/30`, "dev", theirs);
    ip("-n", namespace, "link", "set", theirs, "up");
    const relay = [
      process.execPath,
      join(import.meta.dirname, "relay.ts"),
      `${this.#net}.2`,
      String(PORT),
      this.#socket,
    ];
    const child = spawn("ip", ["netns", "exec", namespace, ...relay], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#relay = child;
    await once(child.stdout, "data");
  }
}

function ip(...args: string[]) {
  try {
    execFileSync("ip", args, { stdio: "pipe" });
  } catch (error) {
    throw new Error(
      `Failed to create a network namespace. Run this test as root, with iproute2 installed. ${error}`,
    );
  }
}
