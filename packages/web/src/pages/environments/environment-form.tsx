import type { CloudEnvironment, CloudEnvironmentRequest } from "@outrider/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { faultsOf } from "../../faults.ts";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Field, TextArea, TextInput } from "../../ui/field.tsx";
import { FormTrouble } from "../../ui/form-trouble.tsx";
import { isMac, Kbd } from "../../ui/kbd.tsx";
import { type Draft, isSame, nameOfMember, orderOf, ownFaults, pruned, requestOf } from "./draft.ts";
import { FormLimits } from "./form-limits.tsx";
import { FormNetwork } from "./form-network.tsx";
import { PartFrame } from "./form-parts.tsx";
import { FormRepositories } from "./form-repositories.tsx";
import { FormSecrets } from "./form-secrets.tsx";
import { FormSetup } from "./form-setup.tsx";
import { FormVariables } from "./form-variables.tsx";
import { LeaveGuard } from "./leave-guard.tsx";

interface EnvironmentFormProps {
  /** What is stored, or what a new one begins with. */
  start: Draft;
  action: string;
  /** A new one can be saved as it stands; one that is stored only where something has changed. */
  isNew?: boolean;
  save: (request: CloudEnvironmentRequest) => Promise<CloudEnvironment>;
  onSaved: (environment: CloudEnvironment) => void;
  onDirty?: (isDirty: boolean) => void;
}

/** Everything that an environment is made of. What was typed stays until it is saved or given up. */
export function EnvironmentForm(props: EnvironmentFormProps) {
  const { start, action, isNew = false, save, onSaved, onDirty } = props;
  const [draft, setDraft] = useState(start);
  const [refused, setRefused] = useState<Draft>();
  const isDirty = !isSame(draft, start);
  const wasSaved = useRef(false);
  const { data: stored = [] } = useQuery(queries.secrets());
  const secrets = stored.map(({ name }) => name);
  const saving = useMutation({
    mutationFn: save,
    onSuccess: (environment) => {
      wasSaved.current = true;
      onDirty?.(false);
      onSaved(environment);
    },
  });

  const own = refused === draft ? ownFaults(draft) : {};
  const faults = { ...faultsOf(saving.error), ...own };
  const change = (part: Partial<Draft>) => {
    const next = { ...draft, ...part };
    // The API's words name rows by their place; once places change they would stand at the wrong ones.
    if (orderOf(next) !== orderOf(draft)) saving.reset();
    setDraft(next);
    onDirty?.(!isSame(next, start));
  };
  const submit = () => {
    const next = pruned(draft);
    setDraft(next);
    saving.reset();
    if (Object.keys(ownFaults(next)).length > 0) setRefused(next);
    else saving.mutate(requestOf(next));
  };
  const part = { draft, change, faults };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(isMac ? event.metaKey : event.ctrlKey)) return;
        event.preventDefault();
        submit();
      }}
    >
      <FormTrouble error={saving.error} faults={own} nameOf={nameOfMember} />
      <PartFrame title="About" lead="How people find it when they start a run.">
        <Field label="Name" error={faults["/name"]}>
          {(parts) => (
            <TextInput
              {...parts}
              required
              value={draft.name}
              placeholder="api"
              onChange={({ target }) => change({ name: target.value })}
            />
          )}
        </Field>
        <Field label="Description" optional error={faults["/description"]}>
          {(parts) => (
            <TextArea
              {...parts}
              rows={2}
              value={draft.description}
              placeholder="What it is for, and what is special about it"
              onChange={({ target }) => change({ description: target.value })}
            />
          )}
        </Field>
      </PartFrame>
      <FormRepositories {...part} secrets={secrets} />
      <FormSetup {...part} />
      <FormVariables {...part} />
      <FormSecrets {...part} secrets={secrets} />
      <FormNetwork {...part} />
      <FormLimits {...part} />
      <div className="sticky bottom-14 z-10 -mx-4 flex flex-wrap items-center justify-end gap-2 border-t border-line bg-canvas px-4 py-3 md:bottom-0">
        <p className="mr-auto text-muted" role="status">
          {isDirty ? (
            <>
              Unsaved changes{" "}
              <span className="hidden sm:inline">
                · <Kbd keys="mod+enter" /> saves them
              </span>
            </>
          ) : isNew ? (
            ""
          ) : (
            "Everything is saved"
          )}
        </p>
        {isDirty && (
          <Button
            onClick={() => {
              setDraft(start);
              saving.reset();
              onDirty?.(false);
            }}
          >
            Discard
          </Button>
        )}
        <Button
          type="submit"
          look="primary"
          busy={saving.isPending}
          disabled={isNew ? !draft.name.trim() : !isDirty}
        >
          {action}
        </Button>
      </div>
      <LeaveGuard isDirty={() => isDirty && !wasSaved.current} />
    </form>
  );
}
