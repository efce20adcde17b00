import type { RunEvent } from "@outrider/sdk";
import { Ban, CircleCheck, CirclePlay, CircleX, Cpu, RotateCcw } from "lucide-react";
import { sanitize, sanitizeLine } from "../../../../ui/text/sanitize.ts";
import { LongText } from "../text/long-text.tsx";
import { Markdown } from "../text/markdown.tsx";
import type { BlockInfo } from "../transcript-context.ts";
import { Line } from "./line.tsx";

const icon = "size-4";

/** Shows a change of the run's state. */
export function StateChange({ event, info }: { event: RunEvent; info: BlockInfo }) {
  switch (event.type) {
    case "run.claimed":
      return (
        <Line event={event} label="Claimed" icon={<Cpu className={icon} aria-hidden />}>
          {/* Share links do not expose the worker's name. */}
          {event.data.worker ? `Claimed by worker ${sanitizeLine(event.data.worker)}` : "Claimed by a worker"}
        </Line>
      );
    case "run.started":
      return (
        <Line event={event} label="Started" icon={<CirclePlay className={icon} aria-hidden />}>
          Agent started · {sanitizeLine(event.data.model_id)}
        </Line>
      );
    case "run.recovering":
      return (
        <Line event={event} label="Recovering" tone="warn" icon={<RotateCcw className={icon} aria-hidden />}>
          Resumed: {sanitizeLine(event.data.reason)}
          {event.data.restored_seq !== undefined &&
            ` File changes after event ${event.data.restored_seq} were lost.`}
        </Line>
      );
    case "run.succeeded":
      return (
        <Line event={event} label="Succeeded" tone="good" icon={<CircleCheck className={icon} aria-hidden />}>
          <span className="font-medium">Succeeded</span>
          {!info.repeatsLastMessage && event.data.text && (
            <div className="mt-1 text-ink">
              <LongText text={event.data.text} seq={event.seq}>
                {(shown) => <Markdown text={shown} />}
              </LongText>
            </div>
          )}
          {event.data.output !== undefined && <Result value={event.data.output} />}
        </Line>
      );
    case "run.failed": {
      const { message, error_code, remedy } = event.data.status_message;
      return (
        <Line event={event} label="Failed" tone="bad" icon={<CircleX className={icon} aria-hidden />}>
          <span className="font-medium">Failed</span>
          {error_code && <span className="font-mono text-xs"> {error_code}</span>}
          <p className="whitespace-pre-wrap [unicode-bidi:plaintext]">{sanitize(message.slice(0, 8_000))}</p>
          {remedy && <p className="text-ink">{sanitize(remedy)}</p>}
        </Line>
      );
    }
    case "run.cancelled":
      return (
        <Line event={event} label="Cancelled" icon={<Ban className={icon} aria-hidden />}>
          Cancelled by {sanitizeLine(event.data.by.display_name)}
        </Line>
      );
    case "run.reopened":
      return (
        <Line event={event} label="Reopened" icon={<RotateCcw className={icon} aria-hidden />}>
          {event.data.by ? `${sanitizeLine(event.data.by.display_name)} continued the run` : "Run continued"}{" "}
          (turn {event.turn})
        </Line>
      );
    default:
      return null;
  }
}

/** Shows the structured output of a run with an output schema. */
function Result({ value }: { value: unknown }) {
  return (
    <div className="mt-1 rounded-md border border-line bg-code px-3 py-2 text-ink">
      <LongText text={JSON.stringify(value, undefined, 2) ?? ""}>
        {(shown) => (
          <pre className="font-mono text-xs leading-5 whitespace-pre-wrap [unicode-bidi:plaintext]">
            {shown}
          </pre>
        )}
      </LongText>
    </div>
  );
}
