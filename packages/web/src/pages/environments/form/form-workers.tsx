import { SandboxOptions, sandboxAdvice } from "../../../sandboxes/sandbox-choices.tsx";
import { SelectField, TextField } from "../../../ui/form/fields.tsx";
import { FormSection, type FormSectionProps } from "./form-section.tsx";

export function FormWorkers({ form }: FormSectionProps) {
  return (
    <FormSection
      title="Workers"
      lead="Which workers build the environment and execute its runs. A change applies to new runs."
    >
      <SelectField
        label="Sandbox"
        {...form.select("sandbox")}
        hint={sandboxAdvice(form.watch("sandbox") ?? "")}
      >
        <SandboxOptions />
      </SelectField>
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Worker pool"
          {...form.field("worker_host")}
          hint="Workers started with this --pool. Default: default"
        />
        <TextField
          label="Worker labels"
          {...form.field("worker_selector")}
          hint="Labels that a worker must have, such as region=eu, gpu"
        />
      </div>
    </FormSection>
  );
}
