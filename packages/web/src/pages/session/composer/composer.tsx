import type { FollowupMode, RunItem } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import clsx from "clsx";
import { ArrowUp, Gauge, Paperclip } from "lucide-react";
import { type FormEvent, memo, useEffect, useId, useRef, useState } from "react";
import { attachmentError } from "../../../attachment.ts";
import { useShortcut } from "../../../frame/shortcuts.ts";
import { showToast } from "../../../frame/toasts.ts";
import { useServiceStatus } from "../../../service-status.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { PausedNotice } from "../../../ui/feedback/paused-notice.tsx";
import { Select } from "../../../ui/form/field.tsx";
import { formatKeys } from "../../../ui/kbd.tsx";
import { deleteDraft, readDraft, storeDraft } from "./draft.ts";
import { FileChips } from "./file-chips.tsx";
import { hasLimitErrors, LimitFields, limitsOf, noLimits } from "./limit-fields.tsx";
import { describeDelivery, modeLabels } from "./mode.ts";
import { Queue } from "./queue.tsx";
import { sendMessage } from "./send-message.ts";

export type ComposedRun = Pick<RunItem, "run_id" | "state" | "limits" | "status_message">;

interface ComposerProps {
  run: ComposedRun;
  onSent: () => void;
}

const limitCodes: (string | undefined)[] = ["budget_exceeded", "step_limit_exceeded", "timeout"];

/** Shows the form for messages to the agent. It is memoized so that events do not re-render it. */
export const Composer = memo(function Composer({ run, onSent }: ComposerProps) {
  const id = useId();
  const box = useRef<HTMLTextAreaElement>(null);
  useShortcut({ keys: "m", what: "Write a message", run: () => box.current?.focus() });
  const [message, setMessage] = useState(() => readDraft(run.run_id));
  const [mode, setMode] = useState<FollowupMode>("auto");
  const [files, setFiles] = useState<readonly File[]>([]);
  const [limits, setLimits] = useState(noLimits);
  // If a limit ended the run, the limit fields are open by default, because the run needs a higher limit to continue.
  const [wantsLimits, setWantsLimits] = useState<boolean>();
  const showsLimits = wantsLimits ?? limitCodes.includes(run.status_message?.error_code);
  const [isDragging, setIsDragging] = useState(false);
  const isAnswer = run.state === "BLOCKED";
  const isWorking = run.state === "INPROGRESS";
  const send = useMutation({
    mutationFn: () =>
      sendMessage(run.run_id, { message, files, limits: limitsOf(limits), ...(isWorking && { mode }) }),
    onSuccess: (text) => {
      setMessage("");
      setFiles([]);
      setLimits(noLimits);
      setWantsLimits(undefined);
      deleteDraft(run.run_id);
      showToast(text);
      onSent();
    },
  });
  const fileError = attachmentError(files);
  const rejection = useRejection(run.state, files.length > 0);
  const isRejected = rejection !== undefined;
  const { reset } = send;
  // The notice above the field replaces the error and disappears when messages are accepted again.
  useEffect(() => {
    if (isRejected) reset();
  }, [isRejected, reset]);
  const canSend = message.trim() !== "" && !fileError && !rejection && !hasLimitErrors(limits);
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (canSend && !send.isPending) send.mutate();
  };
  const attach = (more: Iterable<File>) => setFiles((before) => [...before, ...more]);
  return (
    <form
      noValidate
      onSubmit={submit}
      aria-label={isAnswer ? "Answer question" : "Follow-up"}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setIsDragging(true);
      }}
      onDragLeave={() => setIsDragging(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsDragging(false);
        attach(event.dataTransfer.files);
      }}
      className="mx-auto flex w-full max-w-4xl flex-col gap-2"
    >
      <Queue runId={run.run_id} isOver={run.state !== "QUEUED" && run.state !== "INPROGRESS"} />
      {rejection && <PausedNotice message={rejection.message}>{rejection.text}</PausedNotice>}
      {send.isError && <ErrorAlert error={send.error} />}
      <div
        className={clsx(
          "rounded-xl border bg-surface focus-within:border-accent",
          isDragging ? "border-accent bg-accent-soft" : isAnswer ? "border-warn" : "border-line-strong/60",
        )}
      >
        {showsLimits && <LimitFields texts={limits} current={run.limits} onChange={setLimits} />}
        <FileChips files={files} onRemove={(file) => setFiles(files.filter((other) => other !== file))} />
        {fileError && (
          <p role="alert" className="px-3 pt-2 text-xs text-bad">
            {fileError}
          </p>
        )}
        <label htmlFor={id} className="sr-only">
          {isAnswer ? "Your answer" : "Message to the agent"}
        </label>
        <textarea
          ref={box}
          id={id}
          value={message}
          rows={1}
          placeholder={isAnswer ? "Your answer…" : "Message to the agent…"}
          aria-describedby={`${id}-effect`}
          onChange={({ target }) => {
            setMessage(target.value);
            storeDraft(run.run_id, target.value);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) submit(event);
          }}
          onPaste={(event) => {
            if (event.clipboardData.files.length === 0) return;
            event.preventDefault();
            attach(event.clipboardData.files);
          }}
          className="block max-h-60 min-h-11 w-full resize-none sm:min-h-14 bg-transparent px-3 pt-2.5 outline-none [field-sizing:content]"
        />
        <div className="flex flex-wrap items-center gap-1 px-2 pb-2">
          <AttachButton onFiles={attach} />
          <IconButton
            label="Change limits"
            aria-pressed={showsLimits}
            icon={<Gauge className="size-4" aria-hidden />}
            onClick={() => setWantsLimits(!showsLimits)}
          />
          {isWorking && (
            <Select
              aria-label="Delivery"
              value={mode}
              onChange={({ target }) => setMode(target.value as FollowupMode)}
              className="w-auto! shrink-0 border-transparent!"
            >
              {Object.entries(modeLabels).map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </Select>
          )}
          <p id={`${id}-effect`} className="min-w-0 flex-1 truncate px-1 text-xs text-muted">
            {describeDelivery(run.state, mode)}
          </p>
          <Button
            type="submit"
            variant="primary"
            busy={send.isPending}
            disabled={!canSend}
            title={formatKeys("mod+enter")}
            icon={<ArrowUp className="size-4" aria-hidden />}
          >
            {isAnswer ? "Answer" : "Send"}
          </Button>
        </div>
      </div>
    </form>
  );
});

/**
 * Explains why a message would currently be rejected. Messages that start a turn or have attachments are treated as new
 * work.
 */
function useRejection(state: ComposedRun["state"], hasFiles: boolean) {
  const { acceptsRuns, acceptsWrites, message } = useServiceStatus();
  const isSteering = state === "QUEUED" || state === "INPROGRESS";
  if (acceptsRuns || (acceptsWrites && isSteering && !hasFiles)) return undefined;
  const what = !acceptsWrites
    ? "Messages are disabled in read-only mode"
    : isSteering
      ? "Attachments are paused; you can send the message without them"
      : "New turns are paused";
  return { text: `${what}. Your draft is saved.`, message };
}

function AttachButton({ onFiles }: { onFiles: (files: Iterable<File>) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton
        label="Attach files"
        icon={<Paperclip className="size-4" aria-hidden />}
        onClick={() => input.current?.click()}
      />
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          // Clearing the value allows the user to select the same file again after removing it.
          target.value = "";
        }}
      />
    </>
  );
}
