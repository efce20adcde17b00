import type { RunEvent } from "@outrider/sdk";
import { Ban, CircleCheck, CirclePlay, CircleX, Cpu, RotateCcw } from "lucide-react";
import { visible, visibleLine } from "../../../ui/visible.ts";
import { Line } from "./line.tsx";
import { LongText } from "./long-text.tsx";
import { Markdown } from "./markdown.tsx";
import type { BlockFacts } from "./reading.ts";

const icon = "size-4";

/** A change of the run's state, in words. */
export function State({ event, facts }: { event: RunEvent; facts: BlockFacts }) {
  switch (event.type) {
    case "run.claimed":
      return (
        <Line event={event} label="Claimed" icon={<Cpu className={icon} aria-hidden />}>
          {/* The reader of a share link is not told which. */}
          {event.data.worker
            ? `Worker ${visibleLine(event.data.worker)} took the run`
            : "A worker took the run"}
        </Line>
      );
    case "run.started":
      return (
        <Line event={event} label="Started" icon={<CirclePlay className={icon} aria-hidden />}>
          The agent begins with {visibleLine(event.data.model_id)}
        </Line>
      );
    case "run.recovering":
      return (
        <Line event={event} label="Recovering" tone="warn" icon={<RotateCcw className={icon} aria-hidden />}>
          Taken up again: {visibleLine(event.data.reason)}
          {event.data.restored_seq !== undefined &&
            ` What was written to files behind event ${event.data.restored_seq} is lost.`}
        </Line>
      );
    case "run.succeeded":
      return (
        <Line event={event} label="Succeeded" tone="good" icon={<CircleCheck className={icon} aria-hidden />}>
          <span className="font-medium">Succeeded</span>
          {!facts.isSaidBefore && event.data.text && (
            <div className="mt-1 text-ink">
              <LongText text={event.data.text}>{(shown) => <Markdown text={shown} />}</LongText>
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
          <p className="whitespace-pre-wrap [unicode-bidi:plaintext]">{visible(message.slice(0, 8_000))}</p>
          {remedy && <p className="text-ink">{visible(remedy)}</p>}
        </Line>
      );
    }
    case "run.cancelled":
      return (
        <Line event={event} label="Cancelled" icon={<Ban className={icon} aria-hidden />}>
          Cancelled by {visibleLine(event.data.by.display_name)}
        </Line>
      );
    case "run.reopened":
      return (
        <Line event={event} label="Reopened" icon={<RotateCcw className={icon} aria-hidden />}>
          {event.data.by ? `${visibleLine(event.data.by.display_name)} went on with it` : "It goes on"}: turn{" "}
          {event.turn}
        </Line>
      );
    default:
      return null;
  }
}

/** The answer that a schema was asked for. */
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
