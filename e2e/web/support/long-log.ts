import type { TestInstallation } from "../../../packages/worker/test/installation.ts";

/** Writes a realistic log of many events. The database generates them, because everything else is too slow. */
export async function writeLongLog(
  { db }: Pick<TestInstallation, "db">,
  run: string,
  events: number,
): Promise<void> {
  const patch = [
    "diff --git a/src/part.ts b/src/part.ts",
    "--- a/src/part.ts",
    "+++ b/src/part.ts",
    "@@ -1,4 +1,5 @@",
    ' import { start } from "./start.ts";',
    "-const wait = 10;",
    "+// Long enough for the slowest of them.",
    "+const wait = 50;",
    " start(wait);",
  ].join("\n");
  const words =
    "I looked at **part $1** and found that `wait` is too short.\n\n- first it waits\n- then it gives up\n\nNext I change it.";
  await db.begin(async (tx) => {
    await tx`
      with head as (
        update run_state set last_seq = last_seq + ${events} where run_id = ${run} returning last_seq
      )
      insert into events (run_id, seq, type, created_at, turn, attempt, data)
      select ${run}, head.last_seq - ${events} + n,
        (array['message.agent','command.started','command.output','command.output','command.finished',
          'file.changed','tool.called','tool.returned','reasoning','usage.updated'])[1 + (n - 1) % 10],
        outrider_now() - (${events} - n) * interval '1 second', 1, 1,
        case (n - 1) % 10
          when 0 then jsonb_build_object('text', replace(${words}::text, '$1', n::text))
          when 1 then jsonb_build_object('command_id', 'c' || n / 10, 'command', 'make part-' || n)
          when 2 then jsonb_build_object('command_id', 'c' || n / 10, 'stream', 'stdout',
            'text', repeat(e'\u001b[32mok\u001b[0m compiled another part of it\n', 12))
          when 3 then jsonb_build_object('command_id', 'c' || n / 10, 'stream', 'stderr', 'text', e'one warning\nlast line\n')
          when 4 then jsonb_build_object('command_id', 'c' || n / 10, 'duration_ms', 40 + n % 900,
            'exit_code', case when n % 250 = 5 then 2 else 0 end)
          when 5 then jsonb_build_object('path', 'src/part-' || n || '.ts', 'kind', 'modified', 'patch', ${patch}::text)
          when 6 then jsonb_build_object('call_id', 't' || n / 10, 'tool', 'tracker_search',
            'input', jsonb_build_object('query', 'part ' || n))
          when 7 then jsonb_build_object('call_id', 't' || n / 10, 'tool', 'tracker_search', 'output', repeat('a line of it ', 40))
          when 8 then jsonb_build_object('text', 'The next part is ' || n || ', which depends on the one before it.')
          else jsonb_build_object('input_tokens', n * 90, 'cached_input_tokens', n * 40, 'output_tokens', n * 7,
            'cost_usd', n * 0.0004, 'steps', n / 10, 'run_seconds', n)
        end
      from head, generate_series(1, ${events}::int) as n`;
  });
}
