import type { Publication } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ShieldQuestionMark } from "lucide-react";
import { useId, useState } from "react";
import { outrider } from "../../../api.ts";
import { showToast } from "../../../frame/toasts.ts";
import { queryClient } from "../../../queries.ts";
import { Button } from "../../../ui/button.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { Field, TextArea } from "../../../ui/form/field.tsx";
import { formatBytes } from "../../../ui/format/numbers.ts";
import { InlineCode } from "../../../ui/text/inline-code.tsx";
import { sanitize, sanitizeLine } from "../../../ui/text/sanitize.ts";
import { shortAddress } from "../../environments/repository.ts";
import { countFiles } from "./publications.ts";

interface ApprovalProps {
  publication: Publication;
  /** Whether the user may decide. */
  canDecide: boolean;
  /** Whether to link to the tab with the changes. */
  linksToChanges: boolean;
  onDecided: () => void;
}

/** Shows what a run wants to push and where, and lets the user approve or reject it. */
export function Approval({ publication, canDecide, linksToChanges, onDecided }: ApprovalProps) {
  const id = useId();
  const [isRejecting, setIsRejecting] = useState(false);
  const [comment, setComment] = useState("");
  const { run_id, publication_id, repository, branch, base, kind, title, approval_reason } = publication;
  const decide = useMutation({
    mutationFn: (isApproved: boolean) => {
      const text = comment.trim();
      const body = !isApproved && text ? { comment: text } : {};
      return isApproved
        ? outrider.publications.approve(run_id, publication_id, body)
        : outrider.publications.reject(run_id, publication_id, body);
    },
    onSuccess: ({ state }) => {
      showToast(
        state === "REJECTED" ? (comment.trim() ? "Rejected. The agent continues." : "Rejected") : "Approved",
      );
      onDecided();
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["run", run_id] }),
  });
  return (
    <section
      aria-labelledby={id}
      className="mx-auto flex w-full max-w-4xl flex-col gap-2 rounded-xl border border-warn/60 bg-surface px-4 py-3"
    >
      <div className="flex items-start gap-3">
        <ShieldQuestionMark className="mt-0.5 size-4 shrink-0 text-warn" aria-hidden />
        <div className="min-w-0 flex-1">
          <h2 id={id} className="font-medium">
            Approve these changes?
          </h2>
          <p className="break-words">
            {countFiles(publication.files_changed)} ({formatBytes(publication.diff_bytes)}) will be pushed to{" "}
            <code className="font-mono text-xs break-all">{sanitizeLine(branch)}</code> of{" "}
            <strong className="font-medium">{sanitizeLine(shortAddress(repository))}</strong>
            {kind !== "branch" && (
              <>
                , with a {kind === "draft_pull_request" ? "draft pull request" : "pull request"}
                {base && (
                  <>
                    {" "}
                    into <code className="font-mono text-xs break-all">{sanitizeLine(base)}</code>
                  </>
                )}
                : <q className="break-words">{sanitizeLine(title)}</q>
              </>
            )}
            .
          </p>
          {approval_reason && (
            <p className="mt-1 break-words text-muted">
              <InlineCode text={sanitize(approval_reason)} />
            </p>
          )}
        </div>
      </div>
      {isRejecting && (
        <Field
          label="Comment for the agent"
          optional
          hint="With a comment, the agent continues and can propose other changes. Without one, the run ends."
        >
          {(parts) => (
            <TextArea
              {...parts}
              autoFocus
              rows={2}
              value={comment}
              maxLength={10_000}
              onChange={({ target }) => setComment(target.value)}
            />
          )}
        </Field>
      )}
      {decide.isError && <ErrorAlert error={decide.error} />}
      <div className="flex flex-wrap items-center justify-end gap-2">
        {linksToChanges && (
          <Link to="." search={{ tab: "changes" }} className="mr-auto text-accent-ink underline">
            Review the changes
          </Link>
        )}
        {!canDecide ? (
          <p className="text-muted">Only the run's creator and admins can decide.</p>
        ) : isRejecting ? (
          <>
            <Button onClick={() => setIsRejecting(false)}>Back</Button>
            <Button variant="danger" busy={decide.isPending} onClick={() => decide.mutate(false)}>
              {comment.trim() ? "Reject and continue" : "Reject"}
            </Button>
          </>
        ) : (
          <>
            <Button variant="danger" disabled={decide.isPending} onClick={() => setIsRejecting(true)}>
              Reject
            </Button>
            <Button variant="primary" busy={decide.isPending} onClick={() => decide.mutate(true)}>
              Approve and push
            </Button>
          </>
        )}
      </div>
    </section>
  );
}
