import { ListChecks, Undo2 } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { InlineCode } from "../../../ui/text/inline-code.tsx";
import type { FormSectionProps } from "./form-section.tsx";
import {
  applySettings,
  type FinishedProposal,
  type ProposableValues,
  proposableFields,
  readProposal,
} from "./proposals.ts";
import { isFilled, repositoryOf } from "./values.ts";

type Progress =
  | { step: "idle" }
  | { step: "reading"; repository: string; isTaken: boolean }
  | { step: "error"; error: unknown }
  | { step: "failed"; message: string }
  /** `before` holds what the form contained, so that the user can go back. */
  | { step: "done"; proposal: FinishedProposal; before: ProposableValues };

/** Fills in what the lock files of the first repository suggest, and says why. */
export function ProposeSettings({ form }: FormSectionProps) {
  const [progress, setProgress] = useState<Progress>({ step: "idle" });
  const running = useRef<AbortController>(undefined);
  const last = useRef<{ before: ProposableValues; applied: ProposableValues }>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const hasRepository = form.watch("repos").some(({ address }) => address?.trim());

  const set = (values: ProposableValues) => {
    for (const field of proposableFields) form.setValue(field, values[field], { shouldDirty: true });
  };
  const proposableValues = (): ProposableValues => {
    const values = structuredClone(form.getValues());
    const { docker_image, devcontainer, dockerfile, setup_commands, network } = values;
    return { docker_image, devcontainer, dockerfile, setup_commands, network };
  };
  const start = async () => {
    const first = form.getValues("repos").filter(isFilled)[0];
    if (!first) return;
    const controller = new AbortController();
    running.current = controller;
    const { signal } = controller;
    const repository = first.address ?? "";
    setProgress({ step: "reading", repository, isTaken: false });
    try {
      const proposal = await readProposal(repositoryOf(first), {
        signal,
        onTaken: () => setProgress({ step: "reading", repository, isTaken: true }),
      });
      if ("message" in proposal) return setProgress({ step: "failed", ...proposal });
      const current = proposableValues();
      // A second proposal replaces the first one, unless the user has changed what it filled in.
      const isUnchanged = JSON.stringify(current) === JSON.stringify(last.current?.applied);
      const before = isUnchanged && last.current ? last.current.before : current;
      set(applySettings(before, proposal.settings));
      last.current = { before, applied: proposableValues() };
      setProgress({ step: "done", proposal, before });
    } catch (error) {
      if (!signal.aborted) setProgress({ step: "error", error });
    }
  };
  return (
    <div className="flex flex-col gap-3 rounded-lg border border-line bg-surface p-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Button
          icon={<ListChecks className="size-4" aria-hidden />}
          busy={progress.step === "reading"}
          disabled={!hasRepository}
          onClick={() => void start()}
        >
          Propose settings
        </Button>
        <p className="min-w-0 flex-1 basis-56 text-xs text-muted">
          Fills in the image, setup commands and network from the lock files of the first repository.
        </p>
      </div>
      <div role="status" className="empty:hidden">
        {progress.step === "reading" && (
          <div className="flex flex-wrap items-center gap-2 text-muted">
            <span className="min-w-0 break-words">
              {progress.isTaken ? `Reading ${progress.repository}…` : "Waiting for a worker…"}
            </span>
            <Button
              small
              onClick={() => {
                running.current?.abort();
                setProgress({ step: "idle" });
              }}
            >
              Cancel
            </Button>
          </div>
        )}
        {progress.step === "done" && (
          <Result
            proposal={progress.proposal}
            onUndo={() => {
              set(progress.before);
              setProgress({ step: "idle" });
            }}
          />
        )}
      </div>
      {progress.step === "error" && <ErrorAlert error={progress.error} />}
      {progress.step === "failed" && (
        <div role="alert" className="rounded-lg border border-bad/40 bg-bad-soft p-3">
          <p className="font-medium">The repository could not be read</p>
          <p className="mt-0.5 break-words">
            <InlineCode text={progress.message} />
          </p>
        </div>
      )}
    </div>
  );
}

interface ResultProps {
  proposal: FinishedProposal;
  onUndo: () => void;
}

function Result({ proposal: { settings, reasons }, onUndo }: ResultProps) {
  const { docker_image, devcontainer, dockerfile, setup_commands } = settings;
  const isEmpty = !docker_image && !devcontainer && !dockerfile && setup_commands.length === 0;
  if (isEmpty) {
    return (
      <>
        <p>No lock files found, so nothing was filled in. Choose an image and setup commands below.</p>
        <Reasons>{reasons.map(({ message }) => message)}</Reasons>
      </>
    );
  }
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <p className="min-w-0 flex-1 font-medium">Filled in from the repository. Check the fields below.</p>
        <Button small icon={<Undo2 className="size-3.5" aria-hidden />} onClick={onUndo}>
          Undo
        </Button>
      </div>
      <Reasons>{reasons.map(({ message }) => message)}</Reasons>
    </>
  );
}

function Reasons({ children }: { children: string[] }): ReactNode {
  if (children.length === 0) return null;
  return (
    <ul className="mt-2 list-disc space-y-1 pl-5 text-xs">
      {children.map((message) => (
        <li key={message} className="break-words">
          <InlineCode text={message} />
        </li>
      ))}
    </ul>
  );
}
