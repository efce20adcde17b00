import { once } from "node:events";
import { createServer, connect as dial, type NetConnectOpts, type Server, type Socket } from "node:net";

/** Silent: nothing passes and nobody is told. Broken: connections end, and new ones do so at once. */
export type Cut = "silent" | "broken";

interface Way {
  client: Socket;
  upstream?: Socket;
}

/** A network that can be cut: whoever connects here is led on to the target, as long as the link holds. */
export class Link {
  readonly port: number;
  readonly #listener: Server;
  readonly #ways = new Set<Way>();
  #target: NetConnectOpts;
  #cut: Cut | undefined;

  private constructor(listener: Server, target: NetConnectOpts) {
    this.#listener = listener;
    this.#target = target;
    this.port = (listener.address() as { port: number }).port;
    listener.on("connection", (client) => this.#accept(client));
  }

  static async open(target: NetConnectOpts): Promise<Link> {
    const listener = createServer().listen(0, "127.0.0.1");
    await once(listener, "listening");
    return new Link(listener, target);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  cut(how: Cut): void {
    this.#cut = how;
    if (how === "broken") this.#breakOff();
    else for (const way of this.#ways) hold(way);
  }

  /** What a silent link held back arrives late, as after a short outage. */
  heal(): void {
    this.#cut = undefined;
    for (const way of this.#ways) this.#lead(way);
  }

  /** What was connected to the old target learns of it. */
  turnTo(target: NetConnectOpts): void {
    this.#target = target;
    this.#breakOff();
  }

  close(): void {
    this.#listener.close();
    this.#breakOff();
  }

  #breakOff(): void {
    for (const { client, upstream } of this.#ways) {
      client.resetAndDestroy();
      upstream?.destroy();
    }
  }

  #accept(client: Socket): void {
    const way: Way = { client };
    this.#ways.add(way);
    this.#tie(way, client);
    if (this.#cut === "broken") client.resetAndDestroy();
    else if (this.#cut === undefined) this.#lead(way);
    else hold(way);
  }

  #lead(way: Way): void {
    if (!way.upstream) {
      way.upstream = dial(this.#target);
      this.#tie(way, way.upstream);
    }
    way.client.pipe(way.upstream);
    way.upstream.pipe(way.client);
  }

  #tie(way: Way, socket: Socket): void {
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#ways.delete(way);
      way.client.destroy();
      way.upstream?.destroy();
    });
  }
}

function hold({ client, upstream }: Way): void {
  client.unpipe();
  client.pause();
  upstream?.unpipe();
  upstream?.pause();
}
