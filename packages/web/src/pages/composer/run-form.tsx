import type { RunAgentResponse } from "@outrider/sdk";
import { ChevronDown, Play } from "lucide-react";
import { type FormEvent, useEffect, useId, useRef } from "react";
import { Button } from "../../ui/button.tsx";
import { Kbd } from "../../ui/kbd.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Stopped } from "../../ui/stopped.tsx";
import { countSet, type Draft } from "./draft.ts";
import { EnvironmentChoice, EnvironmentNote } from "./environment-choice.tsx";
import { faultAt } from "./faults.ts";
import { ModelChoice, ModelNote } from "./model-choice.tsx";
import { Options } from "./options.tsx";
import { useComposer } from "./use-composer.ts";

interface RunFormProps {
  /** What it begins with, `draftOfRun(run)` for one. Without it: the last choice, and what was left unsent. */
  initial?: Draft;
  /** What goes over the last choice. */
  chosen?: Partial<Draft>;
  onCreated: (run: RunAgentResponse) => void;
}

export const PROMPT_ID = "prompt";

/** Asks for a run: the prompt, and everything else that a run may be given. */
export function RunForm({ initial, chosen, onCreated }: RunFormProps) {
  const composer = useComposer({ initial, chosen, onCreated });
  const { draft, change, faults, files, isOpen, setOpen, takesRuns, message } = composer;
  const form = useRef<HTMLFormElement>(null);
  const panel = useId();
  const set = countSet(draft, files);
  const send = (event?: FormEvent) => {
    event?.preventDefault();
    if (!composer.isBusy) composer.send();
  };

  // Whoever cannot see the red field finds it: the first one that was refused has the focus.
  useEffect(() => {
    if (faults.length > 0) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [faults]);

  const promptFault = faultAt(faults, "/prompt");
  return (
    <form
      ref={form}
      aria-label="New run"
      onSubmit={send}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey) && !event.nativeEvent.isComposing)
          send(event);
      }}
      className="rounded-xl border border-line bg-surface focus-within:border-line-strong"
    >
      <label htmlFor={PROMPT_ID} className="sr-only">
        What should the agent do?
      </label>
      <textarea
        id={PROMPT_ID}
        value={draft.prompt}
        onChange={({ target }) => change({ prompt: target.value })}
        placeholder="What should the agent do?"
        rows={4}
        aria-invalid={promptFault ? true : undefined}
        aria-describedby={promptFault ? `${panel}-prompt` : undefined}
        className="block field-sizing-content max-h-[50dvh] min-h-28 w-full resize-y rounded-t-xl bg-transparent px-4 pt-3.5 pb-2 text-base outline-offset-0 sm:text-sm"
      />
      {promptFault && (
        <p id={`${panel}-prompt`} className="px-4 pb-2 text-xs text-bad">
          {promptFault}
        </p>
      )}
      <div className="flex flex-wrap items-start gap-2 border-t border-line p-2.5">
        <EnvironmentChoice
          value={draft.environment_id}
          error={faultAt(faults, "/config/environment_id")}
          onChange={(environment_id) => change({ environment_id })}
        />
        <ModelChoice
          value={draft.model_id}
          error={faultAt(faults, "/config/model_id")}
          onChange={(model_id) => change({ model_id })}
        />
        <Button look="quiet" aria-expanded={isOpen} aria-controls={panel} onClick={() => setOpen(!isOpen)}>
          Options
          {set > 0 && (
            <span className="rounded-full bg-accent-soft px-1.5 text-xs text-accent-ink tabular-nums">
              {set}
              <span className="sr-only"> set</span>
            </span>
          )}
          <ChevronDown className={isOpen ? "size-4 rotate-180" : "size-4"} aria-hidden />
        </Button>
        <Button
          type="submit"
          look="primary"
          className="ml-auto max-sm:flex-1"
          busy={composer.isBusy}
          disabled={draft.prompt.trim() === "" || !takesRuns}
          aria-describedby={takesRuns ? undefined : `${panel}-stopped`}
          icon={<Play className="size-4" aria-hidden />}
        >
          Start run
          <span className="max-sm:hidden" aria-hidden>
            <Kbd keys="mod+enter" />
          </span>
        </Button>
      </div>
      <p className="min-h-7 px-4 pb-2.5 text-xs text-muted">
        <ModelNote value={draft.model_id} /> <EnvironmentNote />
      </p>
      {!takesRuns && (
        <div className="px-3 pb-3">
          <Stopped id={`${panel}-stopped`} message={message}>
            New runs are not taken now. What you type here stays, and can be started later.
          </Stopped>
        </div>
      )}
      {composer.error !== undefined && (
        <div className="px-3 pb-3">
          <Problem error={composer.error} />
        </div>
      )}
      <div id={panel} hidden={!isOpen} className="border-t border-line p-4">
        {isOpen && <Options composer={composer} />}
      </div>
    </form>
  );
}
