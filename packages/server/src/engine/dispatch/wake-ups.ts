import type { ClaimRequest } from "@outrider/contract/worker";
import type { Requirement, WaitingRun } from "../../store/dispatch/requirements.ts";
import { Announcer, EXPIRY_MS } from "../live/announcer.ts";
import type { ContentPubSub } from "../live/pubsub.ts";
import type { ServerChannel } from "../live/server-channel.ts";
import { canTake, type Offering, offeringOf } from "./pools.ts";

/*
 * Wakes a server that has an idle worker for a run that waits.
 *
 * Servers announce the places of their idle workers: pool, labels, and whether they take harnesses. A server with a run that
 * waits first tries its own workers. If none is idle, it wakes one server that has announced a matching place, each time
 * another one. That server takes the run, or wakes all others if none of its workers is idle any longer. All servers are also
 * woken if none has announced a matching place. A server that is woken without a matching worker executes no statement.
 *
 * - Everything is a hint. If a message is lost or a server is gone, the run is found by the next poll (claimer.ts).
 * - A server that wakes all others has no matching worker, so they forget what it has announced for that run.
 * - A run that waits for the worker that keeps its sandbox warm wakes only the server where that worker waits. Nobody
 *   announces single workers, so all servers receive this.
 * - A server of the previous version ignores these messages and polls. It publishes topics, which wake every server.
 */

/** Looks for work if a worker of this server can take the run, and otherwise passes the run on, unless others know of it. */
export type OnWake = (run: WaitingRun, pass?: () => void) => void;

interface Announced {
  offering: Offering;
  expiresAt: number;
}

/** The ID of the server to wake, or null for all, and the run's requirements. */
type Message = [string | null, pool: string, Requirement["selector"], needsHarness: boolean, string | null];

export class WakeUps {
  readonly #pubsub: ContentPubSub;
  readonly #channel: ServerChannel;
  readonly #announcer: Announcer;
  /** The number of idle workers on this server by place. */
  readonly #idle = new Map<string, number>();
  /** What other servers have announced, by server and place. The server that was woken last comes last. */
  readonly #announced = new Map<string, Map<string, Announced>>();
  #onWake: OnWake = (_, pass) => pass?.();

  constructor({ channel, pubsub }: { channel: ServerChannel; pubsub: ContentPubSub }) {
    this.#pubsub = pubsub;
    this.#channel = channel;
    this.#announcer = new Announcer((places) => channel.send("idle", places.join("\n")));
    channel.on("idle", (message, sender) => this.#remember(sender, message));
    pubsub.onContent("wake", (message, sender) => this.#receive(JSON.parse(message), sender));
  }

  /** Sets the function that is called when a run waits that a worker of this server may take. */
  onWake(onWake: OnWake) {
    this.#onWake = onWake;
  }

  /** Wakes a server that has an idle worker for the run. Call it after the transaction commits. */
  wake(run: WaitingRun) {
    this.#onWake(run, () => this.#wakeAnother(run));
  }

  /** Tells other servers that a worker is idle, until the returned function is called. */
  announce(request: Pick<ClaimRequest, "worker" | "takes_harnesses">): () => void {
    const { pool, labels, takesHarnesses } = offeringOf(request);
    const sorted = Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
    const key = JSON.stringify({ pool, labels: sorted, takesHarnesses } satisfies Offering);
    this.#idle.set(key, (this.#idle.get(key) ?? 0) + 1);
    this.#announcer.add(key);
    return () => {
      const left = (this.#idle.get(key) as number) - 1;
      if (left > 0) return void this.#idle.set(key, left);
      this.#idle.delete(key);
      this.#announcer.delete(key);
    };
  }

  /** Tells other servers that no worker is idle here any longer. */
  close() {
    this.#announcer.close();
    if (this.#announcer.keys().length > 0) this.#channel.send("idle", "");
  }

  #remember(sender: string, message: string) {
    if (message === "") return void this.#announced.delete(sender);
    const now = performance.now();
    this.#forget((_, { expiresAt }) => expiresAt <= now);
    const places = this.#announced.get(sender) ?? new Map<string, Announced>();
    for (const key of message.split("\n"))
      places.set(key, { offering: JSON.parse(key), expiresAt: now + EXPIRY_MS });
    this.#announced.set(sender, places);
  }

  #receive([target, pool, selector, needsHarness, workerId]: Message, sender: string) {
    if (target !== null && target !== this.#channel.serverId) return;
    const run: WaitingRun = { pool, selector, needsHarness, workerId };
    if (target === null && workerId === null)
      this.#forget((serverId, { offering }) => serverId === sender && canTake(offering, run));
    if (target === null) this.#onWake(run);
    else this.#onWake(run, () => this.#send(null, run));
  }

  #wakeAnother(run: WaitingRun) {
    const target = run.workerId === null ? this.#findTarget(run) : undefined;
    this.#send(target ?? null, run);
  }

  /** Returns a server that has announced a matching place. The same server is returned again only after all others. */
  #findTarget(run: WaitingRun): string | undefined {
    const now = performance.now();
    for (const [serverId, places] of this.#announced) {
      const isMatch = ({ offering, expiresAt }: Announced) => expiresAt > now && canTake(offering, run);
      if (![...places.values()].some(isMatch)) continue;
      this.#announced.delete(serverId);
      this.#announced.set(serverId, places);
      return serverId;
    }
    return undefined;
  }

  #forget(isGone: (serverId: string, announced: Announced) => boolean) {
    for (const [serverId, places] of this.#announced) {
      for (const [key, announced] of places) if (isGone(serverId, announced)) places.delete(key);
      if (places.size === 0) this.#announced.delete(serverId);
    }
  }

  #send(target: string | null, run: WaitingRun) {
    const { pool, selector, needsHarness, workerId } = run;
    const message: Message = [target, pool, selector, needsHarness, workerId];
    this.#pubsub.sendContent("wake", JSON.stringify(message));
    if (target !== null || workerId !== null) return;
    // The others forget these places, so they are announced again as soon as a worker is idle.
    for (const key of this.#announcer.keys()) if (canTake(JSON.parse(key), run)) this.#announcer.renew(key);
  }
}
