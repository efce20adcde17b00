import type { EnvironmentRequest } from "@outrider/contract/environment";
import { type Shell, shellLimits, type TerminalSize } from "@outrider/contract/shell";
import type { Sql, Tx } from "./connection/db.ts";
import { json } from "./connection/json.ts";
import { matchesEnvironment, type WorkerPlace } from "./dispatch/requirements.ts";
import { omitNulls } from "./runs/runs.ts";

function columns(sql: Sql) {
  return sql`shell_id, environment_id, state, created_at, opened_at, closed_at, exit_code, message`;
}

/** How long a closed shell can still be read. */
const CLOSED_MS = 60 * 60_000;

export interface NewShell {
  shell_id: string;
  environment_id: string;
  version: number;
  config: Omit<EnvironmentRequest, "name">;
  user_uid: string;
  credential_id: string;
  terminal: TerminalSize | undefined;
}

export async function insertShell(tx: Tx, shell: NewShell): Promise<Shell> {
  const { shell_id, environment_id, version, config, user_uid, credential_id, terminal } = shell;
  const [row] = await tx<Shell[]>`
    insert into shells (shell_id, environment_id, version, config, user_uid, credential_id, terminal)
    values (${shell_id}, ${environment_id}, ${version}, ${json(tx, config)}, ${user_uid}, ${credential_id},
      ${json(tx, terminal)}::jsonb)
    returning ${columns(tx)}`;
  return omitNulls(row as Shell);
}

/** Serializes the requests of a user for shells until the transaction ends. Returns how many shells the user has. */
export async function countShells(tx: Tx, userUid: string): Promise<number> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`shells of ${userUid}`}, 0))`;
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from shells where user_uid = ${userUid} and state <> 'CLOSED'`;
  return row?.count ?? 0;
}

/** Identifies a shell of one user. */
export interface ShellPath {
  environmentId: string;
  shellId: string;
  userUid: string;
}

export type StoredShell = Shell & { output_seq: number };

export async function findShell(
  sql: Sql,
  { environmentId, shellId, userUid }: ShellPath,
): Promise<StoredShell | undefined> {
  const [row] = await sql<StoredShell[]>`
    select ${columns(sql)}, output_seq from shells
    where shell_id = ${shellId} and environment_id = ${environmentId} and user_uid = ${userUid}`;
  return row && omitNulls(row);
}

export interface LockedShell {
  state: Shell["state"];
  input_seq: number;
  consumed_seq: number;
}

/** Locks a shell for a request of its client. */
export async function lockShell(
  tx: Tx,
  { environmentId, shellId, userUid }: ShellPath,
): Promise<LockedShell | undefined> {
  const [row] = await tx<LockedShell[]>`
    select state, input_seq, consumed_seq from shells
    where shell_id = ${shellId} and environment_id = ${environmentId} and user_uid = ${userUid} for update`;
  return row;
}

/** Records that the client is alive, and which events it has received. Those are deleted. */
export async function recordClient(tx: Tx, shellId: string, received: number | undefined): Promise<void> {
  const [row] = await tx<{ received_seq: number }[]>`
    update shells set client_seen_at = outrider_now(),
      received_seq = greatest(received_seq, least(${received ?? 0}, output_seq))
    where shell_id = ${shellId} returning received_seq`;
  if (received !== undefined)
    await tx`
      delete from shell_frames where shell_id = ${shellId} and not is_input and seq <= ${row?.received_seq ?? 0}`;
}

/** Stores a piece of input. The caller must hold the shell's lock. */
export async function insertInput(
  tx: Tx,
  shellId: string,
  { seq, sealed }: { seq: number; sealed: Buffer },
): Promise<void> {
  await tx`update shells set input_seq = ${seq}, active_at = outrider_now() where shell_id = ${shellId}`;
  await tx`
    insert into shell_frames (shell_id, is_input, seq, sealed) values (${shellId}, true, ${seq}, ${sealed})`;
}

export interface Frame {
  seq: number;
  sealed: Buffer;
}

/** Returns the first events after `after` that the client has not confirmed. */
export async function listFrames(
  sql: Sql,
  { shellId, after, limit }: { shellId: string; after: number; limit: number },
): Promise<Frame[]> {
  return sql<Frame[]>`
    select seq, sealed from shell_frames
    where shell_id = ${shellId} and not is_input and seq > ${after} order by seq limit ${limit}`;
}

export interface TakenShell {
  shell_id: string;
  token: string;
  environment_id: string;
  version: number;
  config: Omit<EnvironmentRequest, "name">;
  terminal: TerminalSize | null;
}

/**
 * Assigns the oldest queued shell of an environment that selects workers of the place to a worker's claim. A repeated claim gets the same shell again. If a worker is lost
 * before its first report, another worker gets the shell.
 */
export async function takeShell(
  sql: Sql,
  {
    workerId,
    place,
    claimId,
    leaseMs,
  }: { workerId: string; place: WorkerPlace; claimId: string; leaseMs: number },
): Promise<TakenShell | undefined> {
  const [row] = await sql<TakenShell[]>`
    update shells set state = 'OPENING', worker_id = ${workerId}, claim_id = ${claimId},
      token = case when claim_id = ${claimId} then token else gen_random_uuid() end, lease_expires_at = outrider_now() + ${leaseMs} * interval '1 ms'
    where shell_id = (
      select shell_id from shells
      where (state = 'QUEUED'
          or (state = 'OPENING' and report_batch = 0 and (claim_id = ${claimId} or lease_expires_at <= outrider_now())))
        and ${matchesEnvironment(sql, place, sql`shells.environment_id`)}
      order by created_at limit 1 for update skip locked)
    returning shell_id, token, environment_id, version, config, terminal`;
  return row;
}

/** Returns whether the latest finished build of an environment's version did not fail. */
export async function isLatestBuildReady(
  sql: Sql,
  { environmentId, version }: { environmentId: string; version: number },
): Promise<boolean> {
  const [row] = await sql<{ state: string }[]>`
    select state from builds
    where environment_id = ${environmentId} and version = ${version} and state in ('READY', 'FAILED')
    order by created_at desc limit 1`;
  return row?.state === "READY";
}

/** Returns the key of the worker that holds the shell. Returns undefined if no worker has ever held it. */
export async function findShellHolder(
  sql: Sql,
  shellId: string,
): Promise<{ key_id: string | null } | undefined> {
  const [row] = await sql<{ key_id: string | null }[]>`
    select w.key_id from shells s join workers w using (worker_id) where s.shell_id = ${shellId}`;
  return row;
}

interface ShellLease {
  shellId: string;
  token: string;
}

export interface HeldShell {
  report_batch: number;
  output_seq: number;
  received_seq: number;
  environment_id: string;
  user_uid: string;
}

/** Locks a shell and renews its lease. Returns undefined if the shell is closed or the token is not the lease's. */
export async function lockHeldShell(
  tx: Tx,
  { shellId, token, leaseMs }: ShellLease & { leaseMs: number },
): Promise<HeldShell | undefined> {
  const [row] = await tx<HeldShell[]>`
    update shells set lease_expires_at = outrider_now() + ${leaseMs} * interval '1 ms'
    where shell_id = ${shellId} and token = ${token} and state in ('OPENING', 'OPEN')
    returning report_batch, output_seq, received_seq, environment_id, user_uid`;
  return row;
}

/** Returns whether this lease has already ended the shell, in which case a repeated call has no effect. */
export async function wasClosedBy(sql: Sql, { shellId, token }: ShellLease): Promise<boolean> {
  const rows = await sql`
    select 1 from shells where shell_id = ${shellId} and token = ${token} and state = 'CLOSED'`;
  return rows.length > 0;
}

/** Appends events. The caller must hold the shell's lock. */
export async function appendShellEvents(
  tx: Tx,
  options: { shellId: string; batch?: number; frames: Frame[]; isOpened: boolean; isActive: boolean },
): Promise<void> {
  const { shellId, batch, frames, isOpened, isActive } = options;
  await tx`
    update shells set output_seq = output_seq + ${frames.length}, report_batch = coalesce(${batch ?? null}, report_batch),
      state = case when ${isOpened} and state = 'OPENING' then 'OPEN' else state end,
      opened_at = case when ${isOpened} then coalesce(opened_at, outrider_now()) else opened_at end,
      active_at = case when ${isActive} then outrider_now() else active_at end
    where shell_id = ${shellId}`;
  const rows = frames.map(({ seq, sealed }) => ({ shell_id: shellId, is_input: false, seq, sealed }));
  if (rows.length > 0) await tx`insert into shell_frames ${tx(rows)}`;
}

export interface WaitingInput {
  received_seq: number;
  pieces: Frame[];
}

/** Deletes the pieces of input that the worker has received. */
export async function consumeInput(
  sql: Sql,
  { shellId, token, after }: ShellLease & { after: number },
): Promise<void> {
  await sql`
    with held as (
      update shells set consumed_seq = ${after}
      where shell_id = ${shellId} and token = ${token} and consumed_seq < ${after} returning shell_id
    )
    delete from shell_frames f using held where f.shell_id = held.shell_id and is_input and seq <= ${after}`;
}

/** More than the number of any piece of input. */
const NO_MORE = 2_000_000_000;

/**
 * Returns the input after `after`, or none if it is undefined. Returns undefined if the shell is closed or the token is
 * not the lease's.
 */
export async function findInput(
  sql: Sql,
  { shellId, token, after }: ShellLease & { after: number | undefined },
): Promise<WaitingInput | undefined> {
  const rows = await sql<{ received_seq: number; seq: number | null; sealed: Buffer | null }[]>`
    select s.received_seq, f.seq, f.sealed
    from shells s left join shell_frames f on f.shell_id = s.shell_id and f.is_input and f.seq > ${after ?? NO_MORE}
    where s.shell_id = ${shellId} and s.token = ${token} and s.state in ('OPENING', 'OPEN')
    order by f.seq limit ${shellLimits.waitingInput}`;
  if (!rows[0]) return undefined;
  const pieces = rows.flatMap(({ seq, sealed }) => (seq !== null && sealed ? [{ seq, sealed }] : []));
  return { received_seq: rows[0].received_seq, pieces };
}

export interface ClosedShell {
  shell_id: string;
  environment_id: string;
  user_uid: string;
  worker_id: string | null;
  output_seq: number;
}

/** Closes a shell that is not closed yet, and deletes its input. The last number is reserved for the event `closed`. */
export async function closeShell(
  tx: Tx,
  shellId: string,
  { exitCode, message }: { exitCode?: number | undefined; message?: string | undefined },
): Promise<ClosedShell | undefined> {
  const [row] = await tx<ClosedShell[]>`
    update shells set state = 'CLOSED', closed_at = outrider_now(), exit_code = ${exitCode ?? null},
      message = ${message ?? null}, lease_expires_at = null, output_seq = output_seq + 1
    where shell_id = ${shellId} and state <> 'CLOSED'
    returning shell_id, environment_id, user_uid, worker_id, output_seq`;
  if (row) await tx`delete from shell_frames where shell_id = ${shellId} and is_input`;
  return row;
}

export async function insertClosedEvent(tx: Tx, shellId: string, { seq, sealed }: Frame): Promise<void> {
  await tx`
    insert into shell_frames (shell_id, is_input, seq, sealed) values (${shellId}, false, ${seq}, ${sealed})`;
}

/** Deletes what is left of a closed shell's data. */
export async function deleteFrames(sql: Sql, shellId: string): Promise<void> {
  await sql`delete from shell_frames where shell_id = ${shellId}`;
}

export type OverdueReason = "lease" | "client" | "idle" | "time" | "queue" | "credential";

/** Lists the shells that exceed a limit, with the reason. */
export async function listOverdueShells(
  sql: Sql,
  shellId?: string,
): Promise<{ shell_id: string; reason: OverdueReason }[]> {
  return sql<{ shell_id: string; reason: OverdueReason }[]>`${overdueShells(sql, shellId)}`;
}

/** The same as a query, for use in a larger statement. */
export function overdueShells(sql: Sql, shellId?: string) {
  const { clientMs, idleMs, openMs } = shellLimits;
  return sql`
    select shell_id, reason from (
      select shell_id, case
        when lease_expires_at <= outrider_now() and report_batch > 0 then 'lease'
        when client_seen_at <= outrider_now() - ${clientMs} * interval '1 ms' then 'client'
        when state = 'OPEN' and active_at <= outrider_now() - ${idleMs} * interval '1 ms' then 'idle'
        when opened_at <= outrider_now() - ${openMs} * interval '1 ms' then 'time'
        when state <> 'OPEN' and created_at <= outrider_now() - ${openMs} * interval '1 ms' then 'queue'
        when exists (select 1 from keys where key_id = credential_id
            and (revoked_at is not null or expires_at <= outrider_now()))
          or exists (select 1 from sessions where session_id = credential_id
            and (ended_at is not null or expires_at <= outrider_now())) then 'credential'
      end as reason
      from shells where state <> 'CLOSED' ${shellId ? sql`and shell_id = ${shellId} for update` : sql``}
    ) s where reason is not null`;
}

/** Deletes events that no client has fetched after a shell was closed, and later the shell itself. */
export async function deleteOldShells(sql: Sql): Promise<void> {
  await sql`
    delete from shell_frames f using shells s
    where s.shell_id = f.shell_id and s.state = 'CLOSED'
      and s.closed_at <= outrider_now() - ${shellLimits.clientMs} * interval '1 ms'`;
  await sql`
    delete from shells where state = 'CLOSED' and closed_at <= outrider_now() - ${CLOSED_MS} * interval '1 ms'`;
}
