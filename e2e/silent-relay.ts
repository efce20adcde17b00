import { once } from "node:events";
import { createServer, connect as dial, type Server, type Socket } from "node:net";

/** An address on this machine that leads to a PostgreSQL, and can fall silent: nothing passes, nothing is closed. */
export class SilentRelay {
  readonly #listener: Server;
  readonly #socket: string;
  readonly #ends = new Set<Socket>();
  #hasPower = true;

  private constructor(listener: Server, socket: string) {
    this.#listener = listener;
    this.#socket = socket;
    listener.on("connection", (client) => this.#lead(client));
  }

  static async start(socket: string): Promise<SilentRelay> {
    const listener = createServer().listen(0, "127.0.0.1");
    await once(listener, "listening");
    return new SilentRelay(listener, socket);
  }

  get address(): string {
    return `127.0.0.1:${(this.#listener.address() as { port: number }).port}`;
  }

  losePower(): void {
    this.#hasPower = false;
    for (const end of this.#ends) end.unpipe().pause();
  }

  /** For whoever connects from now on; what was connected stays silent. */
  async takeOver(): Promise<void> {
    this.#hasPower = true;
  }

  remove(): void {
    this.#listener.close();
    for (const end of this.#ends) end.destroy();
  }

  #lead(client: Socket) {
    this.#keep(client);
    if (!this.#hasPower) return;
    const upstream = dial(this.#socket);
    this.#keep(upstream);
    client.pipe(upstream).pipe(client);
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  }

  #keep(end: Socket) {
    this.#ends.add(end);
    end.on("error", () => {});
    end.on("close", () => this.#ends.delete(end));
  }
}
