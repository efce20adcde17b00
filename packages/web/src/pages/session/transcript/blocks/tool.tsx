import type { RunEvent } from "@outrider/sdk";
import { Image, Wrench } from "lucide-react";
import { formatDuration } from "../../../../ui/format/time.tsx";
import { sanitizeLine } from "../../../../ui/text/sanitize.ts";
import { LongText } from "../text/long-text.tsx";
import { type BlockInfo, find, useOpen, useTranscript } from "../transcript-context.ts";
import { Badge, Card } from "./card.tsx";

/** Shows a call to a built-in or MCP tool with its input and output. */
export function Tool({ events, info }: { events: readonly RunEvent[]; info: BlockInfo }) {
  const called = find(events, "tool.called");
  const returned = find(events, "tool.returned");
  const [isOpen, toggle] = useOpen(info, info.isFailed);
  const first = events[0] as RunEvent;
  const name = called?.data.tool ?? returned?.data.tool ?? "tool";
  const input = called ? (JSON.stringify(called.data.input, undefined, 2) ?? "") : "";
  const took =
    called && returned ? Date.parse(returned.created_at) - Date.parse(called.created_at) : undefined;
  return (
    <Card
      seq={first.seq}
      at={first.created_at}
      label={`Tool: ${sanitizeLine(name)}`}
      tone={info.isFailed ? "bad" : "plain"}
      icon={<Wrench className="size-4" aria-hidden />}
      title={
        <span className="flex min-w-0 items-baseline gap-2">
          <bdi className="shrink-0 font-mono text-xs font-medium">{sanitizeLine(name).slice(0, 80)}</bdi>
          <bdi className="truncate font-mono text-xs text-muted">
            {sanitizeLine((JSON.stringify(called?.data.input) ?? "").slice(0, 200))}
          </bdi>
        </span>
      }
      open={isOpen}
      onToggle={toggle}
      meta={
        <>
          {info.isFailed && <Badge tone="bad">failed</Badge>}
          {!returned && info.isOpen && <Badge tone="live">running</Badge>}
          {took !== undefined && (
            <span className="text-muted tabular-nums max-sm:hidden">{formatDuration(took)}</span>
          )}
        </>
      }
    >
      {isOpen && (
        <div className="border-t border-line">
          {called && <Part label="Input" text={input} seq={called.seq} />}
          {returned && <Part label="Output" text={returned.data.output} seq={returned.seq} />}
          <Images of={returned?.data.images} />
        </div>
      )}
    </Card>
  );
}

function Part({ label, text, seq }: { label: string; text: string; seq: number }) {
  return (
    <div className="border-b border-line px-3 py-2 last:border-b-0">
      <p className="pb-1 text-xs text-muted">{label}</p>
      <LongText text={text} seq={seq}>
        {(shown) => (
          <pre className="font-mono text-xs leading-5 whitespace-pre-wrap [overflow-wrap:anywhere] [unicode-bidi:plaintext]">
            {shown || "(empty)"}
          </pre>
        )}
      </LongText>
    </div>
  );
}

function Images({ of: images }: { of: { artifact_id: string; mime_type: string }[] | undefined }) {
  const { source } = useTranscript();
  if (!images?.length) return null;
  return (
    <ul className="flex flex-wrap gap-2 px-3 py-2 text-xs">
      {images.map(({ artifact_id, mime_type }, index) => (
        <li key={artifact_id} className="flex items-center gap-1.5">
          <Image className="size-4 text-muted" aria-hidden />
          {source.artifactUrl ? (
            <a className="text-accent-ink underline" href={source.artifactUrl(artifact_id)} download>
              Image {index + 1}
            </a>
          ) : (
            `Image ${index + 1}`
          )}
          <span className="text-muted">{sanitizeLine(mime_type)}</span>
        </li>
      ))}
    </ul>
  );
}
