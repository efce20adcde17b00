import type { Attachment, RunAgentRequest, RunAgentResponse } from "@outrider/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { outrider } from "../../api.ts";
import { randomName } from "../../random.ts";
import { useStanding } from "../../standing.ts";
import { asAttachment } from "./attachments.tsx";
import { type Draft, emptyDraft } from "./draft.ts";
import { type Fault, faultsIn, isInOptions } from "./faults.ts";
import { dropDraft, keepDraft, keptDraft, rememberChoice } from "./keep.ts";
import { requestOf } from "./request.ts";

interface ComposerOptions {
  initial: Draft | undefined;
  /** What the link that led here had chosen; it goes over what was kept. */
  chosen: Partial<Draft> | undefined;
  onCreated: (run: RunAgentResponse) => void;
}

export type Composer = ReturnType<typeof useComposer>;

/** The form's state, and its way to the API. */
export function useComposer({ initial, chosen, onCreated }: ComposerOptions) {
  const [draft, setDraft] = useState<Draft>(() => initial ?? { ...keptDraft(), ...chosen });
  const [files, setFiles] = useState<readonly File[]>([]);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const [isOpen, setOpen] = useState(false);
  const key = useKeyFor();
  const client = useQueryClient();
  const isKept = initial === undefined;

  useEffect(() => {
    if (isKept) keepDraft(draft);
  }, [draft, isKept]);

  const show = (found: Fault[]) => {
    setFaults(found);
    if (found.some(isInOptions)) setOpen(true);
  };

  const creation = useMutation({
    async mutationFn(request: RunAgentRequest) {
      const attachments: Attachment[] = await Promise.all(files.map(asAttachment));
      const body = attachments.length > 0 ? { ...request, attachments } : request;
      return outrider.runs.create(body, { idempotencyKey: key.for(body) });
    },
    onSuccess(run) {
      key.renew();
      if (isKept) {
        rememberChoice(draft);
        dropDraft();
        setDraft({ ...keptDraft(), servers: draft.servers });
      } else setDraft(emptyDraft);
      setFiles([]);
      void client.invalidateQueries({ queryKey: ["runs"] });
      onCreated(run);
    },
    onError: (error) => show(faultsIn(error, draft).placed),
  });

  // What was refused because new runs are paused is old news once they are taken again.
  const { takesRuns, message } = useStanding();
  const { reset } = creation;
  useEffect(() => {
    if (!takesRuns) reset();
  }, [takesRuns, reset]);

  return {
    takesRuns,
    /** Why they are not, in the operator's words. */
    message,
    draft,
    files,
    setFiles,
    faults,
    isOpen,
    setOpen,
    isBusy: creation.isPending,
    /** What no field can show. */
    error: creation.error && !faultsIn(creation.error, draft).isWhole ? creation.error : undefined,
    change: (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part })),
    send() {
      if (!takesRuns) return;
      const made = requestOf(draft);
      if ("faults" in made) return show(made.faults);
      setFaults([]);
      creation.mutate(made.request);
    },
  };
}

/** The same request sent twice, because the first answer was lost, starts one agent; a changed one is another. */
function useKeyFor() {
  const held = useRef<{ body: string; key: string } | undefined>(undefined);
  return {
    for(body: RunAgentRequest): string {
      const text = JSON.stringify(body);
      if (held.current?.body !== text) held.current = { body: text, key: randomName() };
      return held.current.key;
    },
    renew() {
      held.current = undefined;
    },
  };
}
