import type { Publication } from "@outrider/sdk";
import { Ban, CircleAlert, CircleCheck, CircleX, LoaderCircle, ShieldQuestionMark } from "lucide-react";
import { Button } from "../../../ui/button.tsx";
import { Time } from "../../../ui/format/time.tsx";
import { PullRequestBadge } from "../../../ui/pull-request-badge.tsx";
import { InlineCode } from "../../../ui/text/inline-code.tsx";
import { sanitize } from "../../../ui/text/sanitize.ts";
import { shortAddress } from "../../environments/repository.ts";
import { describeState, isActive } from "./publications.ts";

interface PublicationStatusProps {
  publication: Publication;
  showsRepository: boolean;
  onRetry: (() => void) | undefined;
}

/** Shows a publication's progress or result. */
export function PublicationStatus({ publication, showsRepository, onRetry }: PublicationStatusProps) {
  const { state, pull_request, status_message: status, warnings = [], comment, created_at } = publication;
  return (
    <div role="status" className="flex items-start gap-2">
      <StateIcon publication={publication} />
      <div className="min-w-0 flex-1 break-words">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          {showsRepository && (
            <span className="font-medium">{sanitize(shortAddress(publication.repository))}</span>
          )}
          <span>{sanitize(describeState(publication))}</span>
          {pull_request && <PullRequestBadge pullRequest={pull_request} labelled />}
          <Time at={publication.finished_at ?? created_at} className="text-xs text-muted" />
        </p>
        {status && (
          <p className={state === "FAILED" ? "" : "text-muted"}>
            {isActive(publication) && "Retrying: "}
            <InlineCode text={sanitize(status.message)} />
            {status.remedy && (
              <>
                {" "}
                <InlineCode text={sanitize(status.remedy)} />
              </>
            )}
          </p>
        )}
        {state === "REJECTED" && comment && <p className="text-muted">{sanitize(comment)}</p>}
        {warnings.map((warning) => (
          <p key={warning} className="flex items-start gap-1.5 text-warn">
            <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
            <span>{sanitize(warning)}</span>
          </p>
        ))}
      </div>
      {state === "FAILED" && onRetry && (
        <Button small onClick={onRetry}>
          Retry
        </Button>
      )}
    </div>
  );
}

function StateIcon({ publication }: { publication: Publication }) {
  const { state } = publication;
  if (isActive(publication))
    return <LoaderCircle className="mt-0.5 size-4 shrink-0 animate-spin text-live" aria-hidden />;
  if (state === "AWAITING_APPROVAL")
    return <ShieldQuestionMark className="mt-0.5 size-4 shrink-0 text-warn" aria-hidden />;
  if (state === "DONE") return <CircleCheck className="mt-0.5 size-4 shrink-0 text-good" aria-hidden />;
  if (state === "REJECTED") return <Ban className="mt-0.5 size-4 shrink-0 text-muted" aria-hidden />;
  return <CircleX className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />;
}
