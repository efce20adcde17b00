import type { Sql } from "../connection/db.ts";

/** A finished command of a turn. */
export interface TurnCommand {
  command: string;
  /** Null if the command was killed. */
  exit_code: number | null;
  /** Whether files changed after the command had started. */
  is_before_change: boolean;
}

/** How many events at the end of a turn are read. */
const MAX_EVENTS = 1_000;
/** Longer commands are cut. */
const MAX_CHARACTERS = 2_000;

/** Returns the last finished commands of a turn, oldest first. */
export async function listTurnCommands(
  sql: Sql,
  { runId, turn }: { runId: string; turn: number },
): Promise<TurnCommand[]> {
  return sql<TurnCommand[]>`
    with latest as materialized (
      select seq, type, data ->> 'command_id' as command_id, left(data ->> 'command', ${MAX_CHARACTERS}) as command,
        (data -> 'exit_code')::int as exit_code
      from (
        select seq, type, data from events where run_id = ${runId} and turn = ${turn}
          and type in ('command.started', 'command.finished', 'file.changed')
        order by seq desc limit ${MAX_EVENTS}
      ) e
    )
    select s.command, f.exit_code,
      s.seq < coalesce((select max(seq) from latest where type = 'file.changed'), 0) as is_before_change
    from latest s join latest f on f.command_id = s.command_id and f.type = 'command.finished' and f.seq > s.seq
    where s.type = 'command.started' order by s.seq`;
}
