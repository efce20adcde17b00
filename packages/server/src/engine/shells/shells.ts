import type { CloudEnvironment } from "@outrider/contract/environment";
import {
  type NewShellEvent,
  type Shell,
  type ShellEvent,
  type ShellInput,
  type ShellInputPiece,
  type ShellRequest,
  shellLimits,
} from "@outrider/contract/shell";
import type { ClaimRequest } from "@outrider/contract/worker";
import type {
  ShellAssignment,
  ShellFinishRequest,
  ShellInputRequest,
  ShellInputResponse,
  ShellReportRequest,
} from "@outrider/contract/worker/shell";
import type { Logger } from "pino";
import { v7 as uuidv7 } from "uuid";
import { findReadyOf } from "../../store/builds.ts";
import type { Db, Sql, Tx } from "../../store/connection/db.ts";
import type { LogPage } from "../../store/log-page.ts";
import {
  appendShellEvents,
  closeShell,
  consumeInput,
  countShells,
  findInput,
  findShell,
  insertClosedEvent,
  insertInput,
  insertShell,
  isLatestBuildReady,
  listFrames,
  lockHeldShell,
  lockShell,
  recordClient,
  type ShellPath,
  type StoredShell,
  takeShell,
  wasClosedBy,
} from "../../store/shells.ts";
import { ApiError, notFound, tooMany } from "../api-error.ts";
import { requireAllEnvironments } from "../auth/environment-access.ts";
import { type Principal, requireUser } from "../auth/principal.ts";
import type { Vault } from "../auth/vault.ts";
import { checkBatch } from "../batches.ts";
import { environmentWork } from "../builds/builds.ts";
import { placeOf } from "../dispatch/pools.ts";
import { type PubSub, topics } from "../live/pubsub.ts";
import type { RunPolicy } from "../runs/run-policy.ts";

/*
 * A shell is a terminal in the sandbox of an environment. It connects a client and a worker, which may use different
 * servers, so everything passes through the database:
 *
 * - The client sends numbered pieces of input. The worker fetches them with a long poll. A piece is deleted when the worker
 *   asks for the next one.
 * - The worker reports events in numbered batches. The client streams them. An event is deleted when the client confirms
 *   that it has received it. The worker stops reading from the shell while too many events are not confirmed.
 * - Each write publishes a notification, which wakes the other side.
 *
 * Both sides can repeat a request: a number that is already stored has no effect. The stored data is encrypted, because
 * users may type secrets. The worker redacts the output as it does in build logs.
 *
 * The token is the worker's lease. When a shell is closed for any reason, the worker's next request is rejected with
 * `conflict`, and the worker deletes the sandbox.
 */

const RETRY_INPUT_SECONDS = 1;
const RETRY_SHELL_SECONDS = 10;
const POLL_MS = 800;

/** The worker itself stops at `waitingOutput`. This is the limit for a worker that does not. */
const MAX_WAITING_EVENTS = 10 * shellLimits.waitingOutput.events;

const contextOf = (shellId: string) => `shell ${shellId}`;

/** Only users who may change environments can open shells, because they can read build secrets there. */
export function requireMaintainer(principal: Principal) {
  requireUser(principal);
  requireAllEnvironments(principal);
}

export async function createShell(
  tx: Tx,
  { policy, principal }: { policy: RunPolicy; principal: Principal },
  { environment, request }: { environment: CloudEnvironment; request: ShellRequest },
): Promise<Shell> {
  const { maxShellsPerUser } = policy;
  const { userUid, credentialId } = principal;
  if ((await countShells(tx, userUid)) >= maxShellsPerUser)
    throw tooMany(
      `You have ${maxShellsPerUser} open shells, which is the maximum. Close one of them.`,
      RETRY_SHELL_SECONDS,
    );
  const {
    environment_id,
    version,
    name: _,
    created_at: __,
    updated_at: ___,
    build: ____,
    ...config
  } = environment;
  return insertShell(tx, {
    shell_id: uuidv7(),
    ...{ environment_id, version, config, user_uid: userUid, credential_id: credentialId },
    terminal: request.terminal,
  });
}

/** Returns a shell that the caller has opened. */
export async function requireShell(
  sql: Sql,
  principal: Principal,
  path: Omit<ShellPath, "userUid">,
): Promise<StoredShell> {
  requireMaintainer(principal);
  const shell = await findShell(sql, { ...path, userUid: principal.userUid });
  if (!shell) throw notFound("shell");
  return shell;
}

/** Stores a piece of input from the client, and which events the client has received. */
export async function sendInput(
  tx: Tx,
  { vault, principal }: { vault: Vault; principal: Principal },
  path: Omit<ShellPath, "userUid">,
  { received, seq, ...rest }: ShellInput,
): Promise<void> {
  requireMaintainer(principal);
  const { shellId } = path;
  const shell = await lockShell(tx, { ...path, userUid: principal.userUid });
  if (!shell) throw notFound("shell");
  await recordClient(tx, shellId, received);
  if (seq === undefined || seq <= shell.input_seq) return;
  if (shell.state === "CLOSED") throw new ApiError("conflict", "The shell is closed.");
  if (seq !== shell.input_seq + 1)
    throw new ApiError("conflict", `Expected piece ${shell.input_seq + 1} of the input, not ${seq}.`);
  if (shell.input_seq - shell.consumed_seq >= shellLimits.waitingInput)
    throw tooMany("The shell has not read the earlier input yet.", RETRY_INPUT_SECONDS);
  const piece: ShellInputPiece = { seq, ...rest };
  await insertInput(tx, shellId, { seq, sealed: vault.seal(JSON.stringify(piece), contextOf(shellId)) });
}

/** Reads the events of a shell that the client has not confirmed. */
export async function listShellEvents(
  sql: Sql,
  vault: Vault,
  { shellId, after, limit }: { shellId: string; after: number; limit: number },
): Promise<LogPage<ShellEvent>> {
  const frames = await listFrames(sql, { shellId, after, limit });
  const events = frames.map(
    ({ seq, sealed }) => ({ seq, ...JSON.parse(vault.open(sealed, contextOf(shellId))) }) as ShellEvent,
  );
  return { events, isTruncated: false };
}

/** Assigns a queued shell to a worker. */
export async function takeQueuedShell(
  db: Db,
  { vault, policy, gitHost }: { vault: Vault; policy: RunPolicy; gitHost: string },
  { worker, request_id }: ClaimRequest,
): Promise<ShellAssignment | undefined> {
  const { leaseMs } = policy;
  const workerId = worker.worker_id;
  const place = placeOf(worker);
  const taken = await takeShell(db, { workerId, place, claimId: request_id, leaseMs });
  if (!taken) return undefined;
  const { shell_id, token, environment_id, version, config, terminal } = taken;
  const environment = await environmentWork(db, { vault, gitHost }, { environment_id, version, config });
  const built = { environmentId: environment_id, version };
  const build = (await isLatestBuildReady(db, built))
    ? await findReadyOf(db, { ...built, sandbox: place.sandbox })
    : undefined;
  return {
    ...{ shell_id, token, lease_ms: leaseMs, environment },
    ...(build ? { build } : {}),
    ...(terminal ? { terminal } : {}),
  };
}

interface ShellServices {
  vault: Vault;
  policy: RunPolicy;
}

async function requireLease(tx: Tx, policy: RunPolicy, shellId: string, token: string) {
  const shell = await lockHeldShell(tx, { shellId, token, leaseMs: policy.leaseMs });
  if (!shell) throw new ApiError("conflict", "The shell is closed, or it does not belong to this worker.");
  return shell;
}

export async function reportShell(
  tx: Tx,
  { vault, policy }: ShellServices,
  shellId: string,
  { token, batch, events }: ShellReportRequest,
): Promise<void> {
  const shell = await requireLease(tx, policy, shellId, token);
  if (checkBatch(batch, shell.report_batch) === "repeated") return;
  if (shell.output_seq - shell.received_seq > MAX_WAITING_EVENTS)
    throw new ApiError("conflict", "The client has not received the earlier events.");
  await append(tx, vault, { shellId, batch, events, lastSeq: shell.output_seq });
}

async function append(
  tx: Tx,
  vault: Vault,
  {
    shellId,
    batch,
    events,
    lastSeq,
  }: { shellId: string; batch: number; events: NewShellEvent[]; lastSeq: number },
): Promise<void> {
  const frames = events.map((event, index) => ({
    seq: lastSeq + index + 1,
    sealed: vault.seal(JSON.stringify(event), contextOf(shellId)),
  }));
  const isOpened = events.some(({ type }) => type === "opened");
  await appendShellEvents(tx, { shellId, batch, frames, isOpened, isActive: events.length > 0 });
}

/** Waits until there is input for the worker, the client has confirmed events, or the wait time ends. */
export async function waitForInput(
  { db, vault, pubsub }: { db: Db; vault: Vault; pubsub: PubSub },
  shellId: string,
  { token, after, received, wait_ms }: ShellInputRequest,
  signal: AbortSignal,
): Promise<ShellInputResponse> {
  const deadline = Date.now() + wait_ms;
  if (after !== undefined && after > 0) await consumeInput(db, { shellId, token, after });
  for (;;) {
    const ms = Math.min(POLL_MS, Math.max(0, deadline - Date.now()));
    // Subscribes before reading, so that a notification between the two is not missed.
    const notified = pubsub.next(topics.shell(shellId), { ms, signal });
    const input = await findInput(db, { shellId, token, after });
    if (!input) throw new ApiError("conflict", "The shell is closed, or it does not belong to this worker.");
    if (
      input.pieces.length > 0 ||
      input.received_seq > received ||
      Date.now() >= deadline ||
      signal.aborted
    ) {
      const pieces = input.pieces.map(
        ({ sealed }) => JSON.parse(vault.open(sealed, contextOf(shellId))) as ShellInputPiece,
      );
      return { pieces, received: input.received_seq };
    }
    await notified;
  }
}

/** Ends a shell at the request of its worker. */
export async function finishShell(
  tx: Tx,
  { vault, policy, log }: ShellServices & { log: Logger },
  shellId: string,
  { token, batch, events, exit_code, message }: ShellFinishRequest,
): Promise<void> {
  if (await wasClosedBy(tx, { shellId, token })) return;
  const shell = await requireLease(tx, policy, shellId, token);
  // A worker that stops abandons its report in flight, and does not know whether the server stored it.
  if (batch > shell.report_batch)
    await append(tx, vault, { shellId, batch, events, lastSeq: shell.output_seq });
  await close(tx, { vault, log }, shellId, { exitCode: exit_code, message });
}

/** Closes a shell and adds its last event. Returns false if it is already closed. */
export async function close(
  tx: Tx,
  { vault, log }: { vault: Vault; log: Logger },
  shellId: string,
  ending: { exitCode?: number | undefined; message?: string | undefined },
): Promise<boolean> {
  const closed = await closeShell(tx, shellId, ending);
  if (!closed) return false;
  const { exitCode, message } = ending;
  const data = {
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(message ? { message } : {}),
  };
  const sealed = vault.seal(JSON.stringify({ type: "closed", data }), contextOf(shellId));
  await insertClosedEvent(tx, shellId, { seq: closed.output_seq, sealed });
  const { shell_id, environment_id, user_uid, worker_id } = closed;
  log.info({ shell_id, environment_id, user_uid, worker_id, exit_code: exitCode, message }, "shell closed");
  return true;
}
