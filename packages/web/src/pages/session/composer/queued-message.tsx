import type { FollowupMode, RunFollowup } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { Pencil, Undo2 } from "lucide-react";
import { useState } from "react";
import { outrider } from "../../../api.ts";
import { queryClient } from "../../../queries.ts";
import { announce } from "../../../shell/announcements.ts";
import { wordsOf } from "../../../trouble.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Select, TextArea } from "../../../ui/field.tsx";
import { modeWords } from "./mode.ts";

export function QueuedMessage({ runId, followup }: { runId: string; followup: RunFollowup }) {
  const { followup_id: id } = followup;
  const [isEdited, setIsEdited] = useState(false);
  const onSettled = () => queryClient.invalidateQueries({ queryKey: ["run", runId] });
  const withdraw = useMutation({
    mutationFn: () => outrider.followups.delete(runId, id),
    onSuccess: () => announce("The message is withdrawn"),
    onError: (error) => announce(wordsOf(error).detail, "bad"),
    onSettled,
  });
  const change = useMutation({
    mutationFn: (to: Changed) => outrider.followups.update(runId, id, to),
    onSuccess: () => {
      setIsEdited(false);
      announce("The message is changed");
    },
    onError: (error) => announce(wordsOf(error).detail, "bad"),
    onSettled,
  });
  if (isEdited) {
    return (
      <Editor
        followup={followup}
        busy={change.isPending}
        onSave={(to) => change.mutate(to)}
        onLeave={() => setIsEdited(false)}
      />
    );
  }
  return (
    <li className="flex items-center gap-2 rounded-lg border border-line bg-surface py-1 pr-1 pl-3">
      <span className="shrink-0 rounded bg-raised px-1.5 py-0.5 text-xs text-muted">
        {modeWords[followup.mode]}
      </span>
      <span className="min-w-0 flex-1 truncate [unicode-bidi:plaintext]">{followup.message}</span>
      <IconButton
        label={`Edit the message: ${started(followup)}`}
        icon={<Pencil className="size-4" aria-hidden />}
        onClick={() => setIsEdited(true)}
      />
      <IconButton
        label={`Withdraw the message: ${started(followup)}`}
        icon={<Undo2 className="size-4" aria-hidden />}
        busy={withdraw.isPending}
        onClick={() => withdraw.mutate()}
      />
    </li>
  );
}

function started({ message }: RunFollowup): string {
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
  onLeave: () => void;
}

function Editor({ followup, busy, onSave, onLeave }: EditorProps) {
  const [message, setMessage] = useState(followup.message);
  const [mode, setMode] = useState(followup.mode);
  return (
    <li className="flex flex-col gap-2 rounded-lg border border-line bg-surface p-2">
      <TextArea
        autoFocus
        aria-label="The queued message"
        value={message}
        onChange={({ target }) => setMessage(target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onLeave();
        }}
      />
      <div className="flex justify-end gap-2">
        <Select
          aria-label="When the agent sees the queued message"
          value={mode}
          onChange={({ target }) => setMode(target.value as FollowupMode)}
          className="w-auto!"
        >
          {Object.entries(modeWords).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </Select>
        <Button onClick={onLeave}>Leave as it was</Button>
        <Button busy={busy} disabled={message.trim() === ""} onClick={() => onSave({ message, mode })}>
          Save
        </Button>
      </div>
    </li>
  );
}
