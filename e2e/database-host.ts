import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";

const PORT = 5432;

/**
 * A machine on the network, as far as others can tell: an address in a network namespace of its own, behind which a
 * PostgreSQL answers. When it loses power, packets to it vanish, and nobody is told. Then another may take its address.
 */
export class DatabaseHost {
  readonly #socket: string;
  readonly #net = `198.18.${randomInt(1, 255)}`;
  readonly #cable: { ours: string; theirs: string };
  readonly #namespaces: string[] = [];
  #relay: ChildProcess | undefined;

  private constructor(socket: string) {
    this.#socket = socket;
    const id = randomBytes(3).toString("hex");
    this.#cable = { ours: `or${id}a`, theirs: `or${id}b` };
  }

  /** Leads to the PostgreSQL behind a unix socket. */
  static async start(socket: string): Promise<DatabaseHost> {
    const host = new DatabaseHost(socket);
    const { ours, theirs } = host.#cable;
    const space = host.#newNamespace();
    ip("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", space);
    ip("addr", "add", `${host.#net}.1/30`, "dev", ours);
    ip("link", "set", ours, "up");
    await host.#comeUp(space);
    return host;
  }

  get address(): string {
    return `${this.#net}.2:${PORT}`;
  }

  losePower(): void {
    ip("-n", this.#namespaces.at(-1) as string, "link", "set", this.#cable.theirs, "down");
    this.#relay?.kill("SIGKILL");
  }

  /** The same address on another machine, which knows nothing of the connections that there were. */
  async takeOver(): Promise<void> {
    const lost = this.#namespaces.at(-1) as string;
    const space = this.#newNamespace();
    ip("-n", lost, "link", "set", this.#cable.theirs, "netns", space);
    await this.#comeUp(space);
  }

  remove(): void {
    this.#relay?.kill("SIGKILL");
    for (const space of this.#namespaces) ip("netns", "del", space);
  }

  #newNamespace(): string {
    const space = `outrider-${randomBytes(4).toString("hex")}`;
    ip("netns", "add", space);
    this.#namespaces.push(space);
    return space;
  }

  async #comeUp(space: string): Promise<void> {
    const { theirs } = this.#cable;
    ip("-n", space, "addr", "add", `${this.#net}.2/30`, "dev", theirs);
    ip("-n", space, "link", "set", theirs, "up");
    const relay = [
      process.execPath,
      join(import.meta.dirname, "relay.ts"),
      `${this.#net}.2`,
      String(PORT),
      this.#socket,
    ];
    const child = spawn("ip", ["netns", "exec", space, ...relay], { stdio: ["ignore", "pipe", "inherit"] });
    this.#relay = child;
    await once(child.stdout, "data");
  }
}

function ip(...args: string[]) {
  try {
    execFileSync("ip", args, { stdio: "pipe" });
  } catch (error) {
    throw new Error(`These tests make a network of their own, which takes root and iproute2. ${error}`);
  }
}
