import { inSpan, type SpanOptions } from "@outrider/telemetry/spans";

/**
 * Calls `exec` in the span of a command. The span names the command only by its ID, which the event log explains: the text
 * of a command may contain secrets.
 */
export function inCommandSpan<T extends { exitCode: number | null; timedOut: boolean }>(
  commandId: string,
  exec: () => Promise<T>,
): Promise<T> {
  const options: SpanOptions = { attributes: { "outrider.command.id": commandId } };
  return inSpan("command", options, async (span) => {
    const result = await exec();
    const { exitCode, timedOut } = result;
    if (exitCode !== null) span.setAttributes({ "process.exit.code": exitCode });
    if (exitCode !== 0) span.fail(timedOut ? "timeout" : exitCode === null ? "killed" : "exit_code");
    return result;
  });
}
