import { EnvironmentRequest } from "@outrider/contract/environment";
import type { CloudEnvironment, CloudEnvironmentRequest } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { queries } from "../../../queries.ts";
import { Button } from "../../../ui/button.tsx";
import { TextAreaField, TextField } from "../../../ui/form/fields.tsx";
import { FormErrors } from "../../../ui/form/form-errors.tsx";
import { useRequestForm } from "../../../ui/form/use-request-form.ts";
import { isMac, Kbd } from "../../../ui/kbd.tsx";
import { FormHarness } from "./form-harness.tsx";
import { FormImage } from "./form-image.tsx";
import { FormLimits } from "./form-limits.tsx";
import { FormNetwork } from "./form-network.tsx";
import { FormRepositories } from "./form-repositories.tsx";
import { FormSecrets } from "./form-secrets.tsx";
import { FormSection } from "./form-section.tsx";
import { FormSetup } from "./form-setup.tsx";
import { FormVariables } from "./form-variables.tsx";
import { FormWorkers } from "./form-workers.tsx";
import { LeaveGuard } from "./leave-guard.tsx";
import { check, fieldOf, requestOf, type Values } from "./values.ts";

interface EnvironmentFormProps {
  /** The stored environment, or a new environment's initial values. */
  start: Values;
  action: string;
  /** Whether the environment is new. A new environment can be saved without changes. */
  isNew?: boolean;
  save: (request: CloudEnvironmentRequest) => Promise<CloudEnvironment>;
  onSaved: (environment: CloudEnvironment) => void;
  onDirty?: (isDirty: boolean) => void;
}

/** Shows the form for creating or editing an environment. */
export function EnvironmentForm(props: EnvironmentFormProps) {
  const { start, action, isNew = false, save, onSaved, onDirty } = props;
  const wasSaved = useRef(false);
  const { data: stored = [] } = useQuery(queries.secrets());
  const secrets = stored.map(({ name }) => name);
  const form = useRequestForm({
    schema: EnvironmentRequest,
    values: start,
    requestOf,
    fieldOf,
    check,
    send: save,
    onSent: (environment) => {
      wasSaved.current = true;
      onSaved(environment);
    },
  });
  const { isDirty } = form;
  useEffect(() => onDirty?.(isDirty), [onDirty, isDirty]);
  return (
    <form
      {...form.attributes}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(isMac ? event.metaKey : event.ctrlKey)) return;
        event.preventDefault();
        if (!form.isBusy) void form.submit();
      }}
    >
      <div className="mb-4 empty:hidden">
        <FormErrors form={form} />
      </div>
      <FormSection title="About" lead="Shown when users select an environment for a run.">
        <TextField label="Name" {...form.field("name")} required placeholder="api" />
        <TextAreaField
          label="Description"
          {...form.field("description")}
          optional
          rows={2}
          placeholder="What it is for"
        />
      </FormSection>
      <FormRepositories form={form} secrets={secrets} proposes={isNew} />
      <FormImage form={form} secrets={secrets} />
      <FormSetup form={form} />
      <FormVariables form={form} />
      <FormSecrets form={form} secrets={secrets} />
      <FormNetwork form={form} />
      <FormHarness form={form} />
      <FormLimits form={form} />
      <FormWorkers form={form} />
      <div className="sticky bottom-14 z-10 -mx-4 flex flex-wrap items-center justify-end gap-2 border-t border-line bg-canvas px-4 py-3 md:bottom-0">
        <p className="mr-auto text-muted" role="status">
          {isDirty ? (
            <>
              Unsaved changes{" "}
              <span className="hidden sm:inline">
                · press <Kbd keys="mod+enter" /> to save
              </span>
            </>
          ) : isNew ? (
            ""
          ) : (
            "All changes saved"
          )}
        </p>
        {isDirty && <Button onClick={() => form.reset()}>Discard</Button>}
        <Button type="submit" variant="primary" busy={form.isBusy} disabled={!isNew && !isDirty}>
          {action}
        </Button>
      </div>
      <LeaveGuard isDirty={() => isDirty && !wasSaved.current} />
    </form>
  );
}
