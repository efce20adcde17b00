import { TemplateRequest } from "@outrider/contract/template";
import { templateVariables } from "@outrider/contract/template-text";
import type { TemplateRequest as Request, Template } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { queries, queryClient } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Field, Select, TextArea, TextInput } from "../../ui/form/field.tsx";
import { TextAreaField, TextField } from "../../ui/form/fields.tsx";
import { FormErrors } from "../../ui/form/form-errors.tsx";
import { parseVerbatim, useRequestForm } from "../../ui/form/use-request-form.ts";
import { Dialog } from "../../ui/overlay/dialog.tsx";
import { noDetails, requestOf, type TemplateValues, type VariableDetails } from "./template-values.ts";

interface TemplateSheetProps {
  /** The template to change. If absent, a new one is created. */
  template?: Template;
  values: TemplateValues;
  onClose: () => void;
}

export function TemplateSheet({ template, values, onClose }: TemplateSheetProps) {
  const id = useId();
  const { data: environments = [] } = useQuery(queries.environments());
  const { data: models } = useQuery(queries.models());
  const form = useRequestForm({
    schema: TemplateRequest,
    values,
    requestOf,
    send: (request: Request) =>
      template
        ? outrider.templates.replace(template.template_id, request)
        : outrider.templates.create(request),
    onSent: () => {
      void queryClient.invalidateQueries({ queryKey: ["templates"] });
      showToast(template ? "Template saved" : "Template created");
      onClose();
    },
  });
  const names = templateVariables(form.watch("prompt") ?? "");
  const details = form.bind("details");
  return (
    <Dialog
      open
      sheet
      keepOpen
      onClose={onClose}
      title={template ? "Edit template" : "New template"}
      description="A prompt that everyone can reuse. Write {{name}} for a part that changes from run to run."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={id} variant="primary" busy={form.isBusy}>
            {template ? "Save changes" : "Create template"}
          </Button>
        </>
      }
    >
      <form {...form.attributes} id={id} className="flex flex-col gap-4">
        <TextField label="Name" {...form.field("name")} data-autofocus placeholder="Fix an issue" />
        <TextField label="Description" optional {...form.field("description")} />
        <TextAreaField
          label="Prompt"
          {...form.field("prompt", parseVerbatim)}
          rows={6}
          placeholder="Fix issue {{issue}} and add a test."
          className="field-sizing-content max-h-[40dvh]"
        />
        {names.length > 0 && (
          <fieldset className="flex flex-col gap-3">
            <legend className="mb-1.5 font-medium">Variables</legend>
            {names.map((name) => (
              <VariableFields
                key={name}
                name={name}
                details={details.value?.[name] ?? noDetails}
                onChange={(part) =>
                  details.onChange({
                    ...details.value,
                    [name]: { ...noDetails, ...details.value?.[name], ...part },
                  })
                }
              />
            ))}
          </fieldset>
        )}
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Environment">
            {(parts) => (
              <Select {...parts} {...form.select("config.environment_id")}>
                <option value="">As chosen for the run</option>
                {environments.map(({ environment_id, name }) => (
                  <option key={environment_id} value={environment_id}>
                    {name}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field label="Model">
            {(parts) => (
              <Select {...parts} {...form.select("config.model_id")}>
                <option value="">As chosen for the run</option>
                {models?.models.map(({ model_id }) => (
                  <option key={model_id} value={model_id}>
                    {model_id}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        </div>
        <FormErrors form={form} />
      </form>
    </Dialog>
  );
}

interface VariableFieldsProps {
  name: string;
  details: VariableDetails;
  onChange: (part: Partial<VariableDetails>) => void;
}

function VariableFields({ name, details, onChange }: VariableFieldsProps) {
  return (
    <fieldset className="grid gap-3 rounded-lg border border-line p-3 sm:grid-cols-2">
      <legend className="px-1 font-mono text-xs">{name}</legend>
      <Field label="Description" compact>
        {(parts) => (
          <TextInput
            {...parts}
            value={details.description}
            onChange={({ target }) => onChange({ description: target.value })}
          />
        )}
      </Field>
      <Field label="Default" compact>
        {(parts) => (
          <TextInput
            {...parts}
            value={details.default}
            placeholder="None: each run needs a value"
            onChange={({ target }) => onChange({ default: target.value })}
          />
        )}
      </Field>
      <Field label="Allowed values, one per line" compact className="sm:col-span-2">
        {(parts) => (
          <TextArea
            {...parts}
            rows={2}
            value={details.options}
            placeholder="Any text"
            onChange={({ target }) => onChange({ options: target.value })}
          />
        )}
      </Field>
    </fieldset>
  );
}
