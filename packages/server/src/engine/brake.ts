import type { BrakeRequest } from "@outrider/contract/brake";
import type { Logger } from "pino";
import { findBrake, putBrake, type StoredBrake } from "../store/brake.ts";
import type { Db, Tx } from "../store/db.ts";
import type { Principal } from "./principal.ts";
import { type Refusal, unavailable } from "./refusal.ts";
import type { Tally } from "./tally.ts";
import { topics, type Wake } from "./wake.ts";

/** A word may be lost, and a second is promised. */
const EVERY_MS = 400;
/** Nobody knows how long an operator takes. Clients that wait by themselves do so for up to a minute: these words go to people. */
const RETRY_AFTER_SECONDS = 120;

const released: StoredBrake = { intake: "open", queue: "open", mode: "normal" };

/** What the operator has stopped, as this server last heard it: each call asks, and none may wait for the database. */
export interface BrakeView {
  current(): StoredBrake;
  takesRuns(): boolean;
  givesWork(): boolean;
  takesWrites(): boolean;
  requireIntake(): void;
  requireWritable(): void;
  /** For who has just changed it: here it holds at once. */
  heard(changed: StoredBrake): void;
  stop(): Promise<void>;
}

interface BrakeOptions {
  db: Db;
  wake: Wake;
  tally: Tally;
  log: Logger;
}

export async function openBrake({ db, wake, tally, log }: BrakeOptions): Promise<BrakeView> {
  let current = released;

  let heardSoFar = 0;

  function take(found: StoredBrake) {
    const { intake, queue, mode, message, changed_at, changed_by } = found;
    if (changed_at !== current.changed_at)
      log.warn({ brake: { intake, queue, mode, message, changed_at, by: changed_by?.uid } }, "the brake");
    current = found;
  }

  async function look() {
    const before = heardSoFar;
    const found = (await findBrake(db)) ?? released;
    // What was read while somebody changed it may be what stood before.
    if (before === heardSoFar) take(found);
    tally.succeeded("brake");
  }
  await look();
  let work = Promise.resolve();
  let isAsked = false;
  const again = () => {
    // One that has not begun yet will see all that was said before: where the database is away, looks must not pile up.
    if (isAsked) return;
    isAsked = true;
    const next = () => {
      isAsked = false;
      return look();
    };
    // Without the database, what was heard last holds on.
    work = work.then(next).catch((error) => {
      tally.failed("brake");
      log.debug({ error }, "cannot look at the brake");
    });
  };
  const off = wake.on(topics.brake, again);
  const ticker = setInterval(again, EVERY_MS);

  const takesWrites = () => current.mode === "normal";
  const takesRuns = () => takesWrites() && current.intake === "open";
  return {
    current: () => current,
    takesRuns,
    givesWork: () => takesWrites() && current.queue === "open",
    takesWrites,
    requireIntake() {
      if (!takesRuns()) throw refusal("takes no new runs now", current);
    },
    requireWritable() {
      if (!takesWrites()) throw refusal("can only be read now", current);
    },
    heard(changed) {
      heardSoFar++;
      take(changed);
    },
    async stop() {
      off();
      clearInterval(ticker);
      await work;
    },
  };
}

function refusal(state: string, { message }: StoredBrake): Refusal {
  const words = message
    ? `, its operator says: ${message}`
    : ", by its operator's decision. Try again later.";
  return unavailable(`The service ${state}${words}`, RETRY_AFTER_SECONDS);
}

/** The whole of it anew: what is not asked for is released. */
export async function setBrake(tx: Tx, principal: Principal, request: BrakeRequest): Promise<StoredBrake> {
  const { intake = "open", queue = "open", mode = "normal", message } = request;
  await putBrake(tx, { intake, queue, mode, ...(message ? { message } : {}) }, principal.creator);
  return (await findBrake(tx)) as StoredBrake;
}
