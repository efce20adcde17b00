import { useMutation } from "@tanstack/react-query";
import { MessageSquare } from "lucide-react";
import { useState } from "react";
import { showToast } from "../../../frame/toasts.ts";
import { Button } from "../../../ui/button.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { Confirm } from "../../../ui/overlay/confirm.tsx";
import { sendMessage } from "../composer/send-message.ts";
import { type LineComments, messageOf } from "./line-comments.ts";

interface CommentBarProps {
  runId: string;
  comments: LineComments;
  onSent: () => void;
}

/** Shows how many comments there are, and sends them as one follow-up. */
export function CommentBar({ runId, comments, onSent }: CommentBarProps) {
  const [isDiscarding, setIsDiscarding] = useState(false);
  const send = useMutation({
    mutationFn: () => sendMessage(runId, { message: messageOf(comments.all) }),
    onSuccess: (text) => {
      comments.clear();
      showToast(text);
      onSent();
    },
  });
  const { length } = comments.all;
  if (length === 0) return null;
  const count = length === 1 ? "1 comment" : `${length} comments`;
  return (
    <section
      aria-label="Comments"
      className="sticky bottom-0 z-20 mt-4 flex flex-col gap-2 rounded-lg border border-accent/40 bg-surface px-3 py-2 shadow-pop"
    >
      {send.isError && <ErrorAlert error={send.error} />}
      <div className="flex flex-wrap items-center gap-2">
        <MessageSquare className="size-4 shrink-0 text-accent-ink" aria-hidden />
        <p role="status" className="mr-auto font-medium">
          {count}
        </p>
        <Button onClick={() => setIsDiscarding(true)}>Discard</Button>
        <Button variant="primary" busy={send.isPending} onClick={() => send.mutate()}>
          Send as follow-up
        </Button>
      </div>
      {isDiscarding && (
        <Confirm
          title={`Discard ${count}?`}
          action="Discard"
          cancel="Keep"
          onConfirm={() => {
            comments.clear();
            setIsDiscarding(false);
          }}
          onClose={() => setIsDiscarding(false)}
        >
          <p>They have not been sent, and cannot be restored.</p>
        </Confirm>
      )}
    </section>
  );
}
