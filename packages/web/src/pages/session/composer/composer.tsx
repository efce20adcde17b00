import type { FollowupMode, RunItem } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import clsx from "clsx";
import { ArrowUp, Gauge, Paperclip } from "lucide-react";
import { type FormEvent, memo, useEffect, useId, useRef, useState } from "react";
import { announce } from "../../../shell/announcements.ts";
import { useStanding } from "../../../standing.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Select } from "../../../ui/field.tsx";
import { keyWords } from "../../../ui/kbd.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { Stopped } from "../../../ui/stopped.tsx";
import { dropDraft, keepDraft, readDraft } from "./draft.ts";
import { FileChips } from "./file-chips.tsx";
import { faultOf } from "./files.ts";
import { LimitFields, limitsOf, noLimits } from "./limit-fields.tsx";
import { effectOf, modeWords } from "./mode.ts";
import { Queue } from "./queue.tsx";
import { sendLetter } from "./send.ts";

export type ComposedRun = Pick<RunItem, "run_id" | "state" | "limits" | "status_message">;

interface ComposerProps {
  run: ComposedRun;
  onSent: () => void;
}

const limitCodes: (string | undefined)[] = ["budget_exceeded", "step_limit_exceeded", "timeout"];

/** The wheel: messages to the agent, whatever it does at the moment. Typing here redraws nothing else. */
export const Composer = memo(function Composer({ run, onSent }: ComposerProps) {
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const [message, setMessage] = useState(() => readDraft(run.run_id));
  const [mode, setMode] = useState<FollowupMode>("auto");
  const [files, setFiles] = useState<readonly File[]>([]);
  const [limits, setLimits] = useState(noLimits);
  // Where a limit ended the run, a higher one is the way on; else who wants them opens them.
  const [wantsLimits, setWantsLimits] = useState<boolean>();
  const showsLimits = wantsLimits ?? limitCodes.includes(run.status_message?.error_code);
  const [isOver, setIsOver] = useState(false);
  const isAnswer = run.state === "BLOCKED";
  const isWorking = run.state === "INPROGRESS";
  const send = useMutation({
    mutationFn: () =>
      sendLetter(run.run_id, { message, files, limits: limitsOf(limits), ...(isWorking && { mode }) }),
    onSuccess: (words) => {
      setMessage("");
      setFiles([]);
      setLimits(noLimits);
      setWantsLimits(undefined);
      dropDraft(run.run_id);
      announce(words);
      onSent();
    },
  });
  const fault = faultOf(files);
  const refusal = useRefusal(run.state, files.length > 0);
  const isRefused = refusal !== undefined;
  const { reset } = send;
  // The words above the field say it from now on, and are gone when it is over.
  useEffect(() => {
    if (isRefused) reset();
  }, [isRefused, reset]);
  const canSend = message.trim() !== "" && !fault && !refusal;
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (canSend && !send.isPending && form.current?.reportValidity()) send.mutate();
  };
  const attach = (more: Iterable<File>) => setFiles((before) => [...before, ...more]);
  return (
    <form
      ref={form}
      onSubmit={submit}
      aria-label={isAnswer ? "Answer the question" : "Follow-up"}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        attach(event.dataTransfer.files);
      }}
      className="mx-auto flex w-full max-w-4xl flex-col gap-2"
    >
      <Queue runId={run.run_id} isOver={run.state !== "QUEUED" && run.state !== "INPROGRESS"} />
      {refusal && <Stopped message={refusal.message}>{refusal.words}</Stopped>}
      {send.isError && <Problem error={send.error} />}
      <div
        className={clsx(
          "rounded-xl border bg-surface focus-within:border-accent",
          isOver ? "border-accent bg-accent-soft" : isAnswer ? "border-warn" : "border-line-strong/60",
        )}
      >
        {showsLimits && <LimitFields texts={limits} current={run.limits} onChange={setLimits} />}
        <FileChips files={files} onRemove={(file) => setFiles(files.filter((one) => one !== file))} />
        {fault && (
          <p role="alert" className="px-3 pt-2 text-xs text-bad">
            {fault}
          </p>
        )}
        <label htmlFor={id} className="sr-only">
          {isAnswer ? "Your answer" : "Message to the agent"}
        </label>
        <textarea
          id={id}
          value={message}
          rows={2}
          placeholder={isAnswer ? "Your answer…" : "Message to the agent…"}
          aria-describedby={`${id}-effect`}
          onChange={({ target }) => {
            setMessage(target.value);
            keepDraft(run.run_id, target.value);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) submit(event);
          }}
          onPaste={(event) => {
            if (event.clipboardData.files.length === 0) return;
            event.preventDefault();
            attach(event.clipboardData.files);
          }}
          className="block max-h-60 min-h-11 w-full resize-none bg-transparent px-3 pt-2.5 outline-none [field-sizing:content]"
        />
        <div className="flex flex-wrap items-center gap-1 px-2 pb-2">
          <AttachButton onFiles={attach} />
          <IconButton
            label="Change the run's limits"
            aria-pressed={showsLimits}
            icon={<Gauge className="size-4" aria-hidden />}
            onClick={() => setWantsLimits(!showsLimits)}
          />
          {isWorking && (
            <Select
              aria-label="When the agent sees it"
              value={mode}
              onChange={({ target }) => setMode(target.value as FollowupMode)}
              className="w-auto! shrink-0 border-transparent!"
            >
              {Object.entries(modeWords).map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </Select>
          )}
          <p
            id={`${id}-effect`}
            className="min-w-0 flex-1 truncate px-1 text-xs text-muted max-sm:order-first max-sm:basis-full"
          >
            {effectOf(run.state, mode)}
          </p>
          <span className="flex-1 sm:hidden" />
          <Button
            type="submit"
            look="primary"
            busy={send.isPending}
            disabled={!canSend}
            title={keyWords("mod+enter")}
            icon={<ArrowUp className="size-4" aria-hidden />}
          >
            {isAnswer ? "Answer" : "Send"}
          </Button>
        </div>
      </div>
    </form>
  );
});

/** Why a message would not be taken now: one that begins a turn, or brings files, is new work. */
function useRefusal(state: ComposedRun["state"], hasFiles: boolean) {
  const { takesRuns, takesWrites, message } = useStanding();
  const isSteering = state === "QUEUED" || state === "INPROGRESS";
  if (takesRuns || (takesWrites && isSteering && !hasFiles)) return undefined;
  const what = !takesWrites
    ? "Messages are not taken now"
    : isSteering
      ? "Attachments are not taken now; a message without them is"
      : "This would begin new work, which is not taken now";
  return { words: `${what}. What you type here stays.`, message };
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
          // The same file can be chosen again after it was removed.
          target.value = "";
        }}
      />
    </>
  );
}
