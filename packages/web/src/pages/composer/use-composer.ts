import type { FieldError } from "@outrider/contract/errors/field-error";
import { APIStatusError, type Attachment, type RunAgentRequest, type RunAgentResponse } from "@outrider/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { outrider } from "../../api.ts";
import { attachmentError, attachmentOf } from "../../attachment.ts";
import { randomId } from "../../random.ts";
import { useServiceStatus } from "../../service-status.ts";
import { type Draft, emptyDraft } from "./draft.ts";
import { type ComposerErrors, errorsByField, isInOptions } from "./field-errors.ts";
import { requestOf } from "./request.ts";
import { deleteDraft, rememberOptions, storeDraft, storedDraft } from "./stored-draft.ts";

interface ComposerOptions {
  initial: Draft | undefined;
  /** Values from the link that opened the form. They override the remembered values. */
  overrides: Partial<Draft> | undefined;
  onCreated: (run: RunAgentResponse) => void;
}

export type Composer = ReturnType<typeof useComposer>;

/** Manages the form's state and submits it. */
export function useComposer({ initial, overrides, onCreated }: ComposerOptions) {
  const [draft, setDraft] = useState<Draft>(() => initial ?? { ...storedDraft(), ...overrides });
  const [files, setFiles] = useState<readonly File[]>([]);
  const [fieldErrors, setFieldErrors] = useState<ComposerErrors>({});
  const [isOpen, setOpen] = useState(false);
  const key = useIdempotencyKey();
  const client = useQueryClient();
  const isStored = initial === undefined;
  const fileError = attachmentError(files);

  useEffect(() => {
    if (isStored) storeDraft(draft);
  }, [draft, isStored]);

  const show = (found: readonly FieldError[]) => {
    const { errors } = errorsByField(found, draft);
    setFieldErrors(errors);
    if (isInOptions(errors)) setOpen(true);
  };

  const creation = useMutation({
    async mutationFn(request: RunAgentRequest) {
      const attachments: Attachment[] = await Promise.all(files.map(attachmentOf));
      const body = attachments.length > 0 ? { ...request, attachments } : request;
      return outrider.runs.create(body, { idempotencyKey: key.for(body) });
    },
    onSuccess(run) {
      key.renew();
      if (isStored) {
        rememberOptions(draft);
        deleteDraft();
        setDraft({ ...storedDraft(), servers: draft.servers });
      } else setDraft(emptyDraft);
      setFiles([]);
      void client.invalidateQueries({ queryKey: ["runs"] });
      onCreated(run);
    },
    onError: (error) => show(errorsIn(error)),
  });

  // An error caused by paused runs is cleared, because the notice already explains it and disappears when runs resume.
  const { acceptsRuns, message } = useServiceStatus();
  const { reset } = creation;
  useEffect(() => {
    if (!acceptsRuns) reset();
  }, [acceptsRuns, reset]);

  return {
    acceptsRuns,
    /** The operator's message about the restriction. */
    message,
    draft,
    files,
    fileError,
    setFiles,
    attach: (more: Iterable<File>) => setFiles((before) => [...before, ...more]),
    fieldErrors,
    isOpen,
    setOpen,
    isBusy: creation.isPending,
    /** The error, if no field can show it. */
    error:
      creation.error && !errorsByField(errorsIn(creation.error), draft).isComplete
        ? creation.error
        : undefined,
    change(part: Partial<Draft>) {
      setDraft((before) => ({ ...before, ...part }));
      // These errors are about a combination, so a change of one of its fields may fix them.
      if (combined.some((member) => member in part)) setFieldErrors(withoutCombinations);
    },
    send() {
      if (!acceptsRuns) return;
      if (fileError) return;
      const result = requestOf(draft);
      if ("fieldErrors" in result) return show(result.fieldErrors);
      setFieldErrors({});
      creation.mutate(result.request);
    },
  };
}

const combined: (keyof Draft)[] = ["environment_id", "harness", "model_id"];

function withoutCombinations(errors: ComposerErrors): ComposerErrors {
  const { "config.harness": harness, "config.model_id": model, ...others } = errors;
  return harness === undefined && model === undefined ? errors : others;
}

function errorsIn(error: unknown): readonly FieldError[] {
  return (error instanceof APIStatusError && error.errors) || [];
}

/** Manages idempotency keys: resending an unchanged request reuses its key, and a changed request gets a new one. */
function useIdempotencyKey() {
  const lastRequest = useRef<{ body: string; key: string } | undefined>(undefined);
  return {
    for(body: RunAgentRequest): string {
      const text = JSON.stringify(body);
      if (lastRequest.current?.body !== text) lastRequest.current = { body: text, key: randomId() };
      return lastRequest.current.key;
    },
    renew() {
      lastRequest.current = undefined;
    },
  };
}
