import type { RunAgentResponse } from "@outrider/sdk";
import clsx from "clsx";
import { ChevronDown, LayoutTemplate, Play } from "lucide-react";
import { type FormEvent, lazy, Suspense, useEffect, useId, useRef, useState } from "react";
import { loadPart } from "../../frame/connection.ts";
import { HarnessNote } from "../../harnesses/harness-note.tsx";
import { useDefaultHarness, useModelProblem } from "../../harnesses/harnesses.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { PausedNotice } from "../../ui/feedback/paused-notice.tsx";
import { errorSentence } from "../../ui/form/field.tsx";
import { Kbd } from "../../ui/kbd.tsx";
import { InlineCode } from "../../ui/text/inline-code.tsx";
import { AttachButton, AttachedFiles } from "./attachments.tsx";
import { countOptions, type Draft } from "./draft.ts";
import { DraftChanges } from "./draft-changes.tsx";
import { EnvironmentNote, EnvironmentSelect } from "./environment-select.tsx";
import { HarnessSelect } from "./harness-select.tsx";
import { ModelNote, ModelSelect } from "./model-select.tsx";
import { Options } from "./options.tsx";
import { ScriptedHelp } from "./scripted-help.tsx";
import { useComposer } from "./use-composer.ts";

const TemplateDialog = lazy(() =>
  loadPart(() => import("./template-dialog.tsx")).then((it) => ({ default: it.TemplateDialog })),
);

interface RunFormProps {
  /**
   * The initial values, for example `draftOfRun(run)`. If absent, the form starts with the unsent draft and the options
   * that were used last.
   */
  initial?: Draft;
  /** Values that override the remembered ones. */
  overrides?: Partial<Draft>;
  /** The template that the form offers at first. */
  templateId?: string | undefined;
  /** The values that a re-run would repeat. The form shows how its own values differ from them. */
  compareWith?: Draft;
  onCreated: (run: RunAgentResponse) => void;
}

export const PROMPT_ID = "prompt";

/** Shows the form for a new run. */
export function RunForm({ initial, overrides, templateId, compareWith, onCreated }: RunFormProps) {
  const composer = useComposer({ initial, overrides, onCreated });
  const { draft, change, fieldErrors, files, isOpen, setOpen, acceptsRuns, message } = composer;
  const form = useRef<HTMLFormElement>(null);
  const panel = useId();
  const standard = useDefaultHarness(draft.environment_id);
  const harness = draft.harness || standard;
  const modelProblem = useModelProblem(harness, draft.model_id);
  const set = countOptions(draft);
  const [isDragging, setDragging] = useState(false);
  const [choosing, setChoosing] = useState<{ templateId: string | undefined }>();
  // The link that offers a template can also be opened while the form is shown.
  useEffect(() => {
    if (templateId !== undefined) setChoosing({ templateId });
  }, [templateId]);
  const send = (event?: FormEvent) => {
    event?.preventDefault();
    if (!composer.isBusy) composer.send();
  };

  // Focusing the first invalid field also helps screen reader users to find it.
  useEffect(() => {
    if (Object.keys(fieldErrors).length > 0)
      form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [fieldErrors]);

  const promptError = fieldErrors.prompt;
  return (
    <>
      <form
        ref={form}
        noValidate
        aria-label="New run"
        onSubmit={send}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey) && !event.nativeEvent.isComposing)
            send(event);
        }}
        onDragOver={(event) => {
          if (!event.dataTransfer.types.includes("Files")) return;
          event.preventDefault();
          setDragging(true);
        }}
        onDragLeave={(event) => {
          // Entering an element inside the form also leaves the one before.
          if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setDragging(false);
        }}
        onDrop={(event) => {
          setDragging(false);
          if (event.dataTransfer.files.length === 0) return;
          event.preventDefault();
          composer.attach(event.dataTransfer.files);
        }}
        onPaste={(event) => {
          if (event.clipboardData.files.length === 0) return;
          event.preventDefault();
          composer.attach(event.clipboardData.files);
        }}
        className={clsx(
          "rounded-xl border bg-surface has-[>textarea:focus]:ring-1 has-[>textarea:focus]:ring-accent",
          isDragging
            ? "border-accent bg-accent-soft"
            : "border-line focus-within:border-line-strong has-[>textarea:focus]:border-accent",
        )}
      >
        <label htmlFor={PROMPT_ID} className="sr-only">
          What should the agent do?
        </label>
        <textarea
          id={PROMPT_ID}
          value={draft.prompt}
          onChange={({ target }) => change({ prompt: target.value })}
          onKeyDown={({ key, currentTarget }) => {
            // Leaves the field, so that single-key shortcuts work again.
            if (key === "Escape" && !currentTarget.closest("dialog")) currentTarget.blur();
          }}
          placeholder="What should the agent do?"
          rows={4}
          aria-invalid={promptError ? true : undefined}
          aria-describedby={promptError ? `${panel}-prompt` : undefined}
          className="block field-sizing-content max-h-[50dvh] min-h-28 w-full resize-y rounded-t-xl bg-transparent px-4 pt-3.5 pb-2 text-base outline-none sm:text-sm"
        />
        {promptError && (
          <p id={`${panel}-prompt`} className="px-4 pb-2 text-xs text-bad">
            <InlineCode text={errorSentence("The prompt", promptError)} />
          </p>
        )}
        <AttachedFiles
          files={files}
          error={
            composer.fileError ??
            (fieldErrors.attachments && errorSentence("Attachments", fieldErrors.attachments))
          }
          onChange={composer.setFiles}
        />
        <div className="flex flex-wrap items-start gap-2 border-t border-line p-2.5">
          <EnvironmentSelect
            value={draft.environment_id}
            error={fieldErrors["config.environment_id"]}
            onChange={(environment_id) => change({ environment_id })}
          />
          <HarnessSelect
            value={draft.harness}
            environmentId={draft.environment_id}
            error={modelProblem ? undefined : fieldErrors["config.harness"]}
            onChange={(harness) => change({ harness })}
          />
          <ModelSelect
            value={draft.model_id}
            harness={harness}
            error={modelProblem ?? fieldErrors["config.model_id"]}
            onChange={(model_id) => change({ model_id })}
          />
          <AttachButton onFiles={composer.attach} />
          <IconButton
            label="Use a template"
            icon={<LayoutTemplate className="size-4" aria-hidden />}
            onClick={() => setChoosing({ templateId: undefined })}
          />
          <Button
            variant="quiet"
            aria-expanded={isOpen}
            aria-controls={panel}
            onClick={() => setOpen(!isOpen)}
          >
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
            variant="primary"
            className="ml-auto max-sm:flex-1"
            busy={composer.isBusy}
            disabled={(draft.prompt.trim() === "" && draft.skill_spec.trim() === "") || !acceptsRuns}
            aria-describedby={acceptsRuns ? undefined : `${panel}-stopped`}
            icon={<Play className="size-4" aria-hidden />}
          >
            {compareWith ? "Re-run" : "Start run"}
            <span className="max-sm:hidden" aria-hidden>
              <Kbd keys="mod+enter" />
            </span>
          </Button>
        </div>
        {/* Below the controls, which therefore stay in place when the models are known. */}
        <ScriptedHelp modelId={draft.model_id} onChoose={(prompt) => change({ prompt })} />
        <p className="min-h-7 px-4 pb-2.5 text-xs text-muted">
          <HarnessNote name={harness} /> <ModelNote value={draft.model_id} /> <EnvironmentNote />
        </p>
        {!acceptsRuns && (
          <div className="px-3 pb-3">
            <PausedNotice id={`${panel}-stopped`} message={message}>
              New runs are paused. Your draft is saved, and you can start it later.
            </PausedNotice>
          </div>
        )}
        {composer.error !== undefined && (
          <div className="px-3 pb-3">
            <ErrorAlert error={composer.error} />
          </div>
        )}
        {compareWith && <DraftChanges before={compareWith} after={draft} />}
        <div id={panel} hidden={!isOpen} className="border-t border-line p-4">
          {isOpen && <Options composer={composer} harness={harness} />}
        </div>
      </form>
      <Suspense>
        {choosing && (
          <TemplateDialog
            draft={draft}
            templateId={choosing.templateId}
            onUse={change}
            onClose={() => setChoosing(undefined)}
          />
        )}
      </Suspense>
    </>
  );
}
