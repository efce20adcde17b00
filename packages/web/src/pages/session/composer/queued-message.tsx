import type { FollowupMode, RunFollowup } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { Pencil, Undo2 } from "lucide-react";
import { useState } from "react";
import { outrider } from "../../../api.ts";
import { showToast } from "../../../frame/toasts.ts";
import { queryClient } from "../../../queries.ts";
import { describeError } from "../../../request-error.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Select, TextArea } from "../../../ui/form/field.tsx";
import { modeLabels } from "./mode.ts";

export function QueuedMessage({ runId, followup }: { runId: string; followup: RunFollowup }) {
  const { followup_id: id } = followup;
  const [isEdited, setIsEdited] = useState(false);
  const onSettled = () => queryClient.invalidateQueries({ queryKey: ["run", runId] });
  const withdraw = useMutation({
    mutationFn: () => outrider.followups.delete(runId, id),
    onSuccess: () => showToast("Message withdrawn"),
    onError: (error) => showToast(describeError(error).detail, "bad"),
    onSettled,
  });
  const change = useMutation({
    mutationFn: (to: Changed) => outrider.followups.update(runId, id, to),
    onSuccess: () => {
      setIsEdited(false);
      showToast("Message updated");
    },
    onError: (error) => showToast(describeError(error).detail, "bad"),
    onSettled,
  });
  if (isEdited) {
    return (
      <Editor
        followup={followup}
        busy={change.isPending}
        onSave={(to) => change.mutate(to)}
        onCancel={() => setIsEdited(false)}
      />
    );
  }
  return (
    <li className="flex items-center gap-2 rounded-lg border border-line bg-surface py-1 pr-1 pl-3">
      <span className="shrink-0 rounded bg-raised px-1.5 py-0.5 text-xs text-muted">
        {modeLabels[followup.mode]}
      </span>
      <span className="min-w-0 flex-1 truncate [unicode-bidi:plaintext]">{followup.message}</span>
      <IconButton
        label={`Edit message: ${preview(followup)}`}
        icon={<Pencil className="size-4" aria-hidden />}
        onClick={() => setIsEdited(true)}
      />
      <IconButton
        label={`Withdraw message: ${preview(followup)}`}
        icon={<Undo2 className="size-4" aria-hidden />}
        busy={withdraw.isPending}
        onClick={() => withdraw.mutate()}
      />
    </li>
  );
}

function preview({ message }: RunFollowup): string {
  return message.length > 40 ? `${message.slice(0, 40)}…` : message;
}

interface Changed {
  message: string;
  mode: FollowupMode;
}

interface EditorProps {
  followup: RunFollowup;
  busy: boolean;
  onSave: (to: Changed) => void;
  onCancel: () => void;
}

function Editor({ followup, busy, onSave, onCancel }: EditorProps) {
  const [message, setMessage] = useState(followup.message);
  const [mode, setMode] = useState(followup.mode);
  return (
    <li className="flex flex-col gap-2 rounded-lg border border-line bg-surface p-2">
      <TextArea
        autoFocus
        aria-label="Queued message"
        value={message}
        onChange={({ target }) => setMessage(target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onCancel();
        }}
      />
      <div className="flex justify-end gap-2">
        <Select
          aria-label="When to send the queued message"
          value={mode}
          onChange={({ target }) => setMode(target.value as FollowupMode)}
          className="w-auto!"
        >
          {Object.entries(modeLabels).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
        <Button onClick={onCancel}>Cancel</Button>
        <Button busy={busy} disabled={message.trim() === ""} onClick={() => onSave({ message, mode })}>
          Save
        </Button>
      </div>
    </li>
  );
}
