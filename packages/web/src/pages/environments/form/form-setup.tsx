import { useFieldArray } from "react-hook-form";
import { TextAreaField } from "../../../ui/form/fields.tsx";
import { Rows } from "../../../ui/form/rows.tsx";
import { FormSection, type FormSectionProps } from "./form-section.tsx";
import { blankText } from "./values.ts";

export function FormSetup({ form }: FormSectionProps) {
  return (
    <>
      <FormSection
        title="Setup commands"
        lead="Run once, in order, when the environment is built. Every run starts from a copy of the result. Setup commands can read the variables, and the secrets that you select for them."
      >
        <Commands form={form} field="setup_commands" noun="command" placeholder="npm ci" />
      </FormSection>
      <FormSection
        title="Start commands"
        lead="Run in order each time a sandbox starts, before the agent's first command, to start databases and other services. Each must return within 120 seconds, so start servers in the background."
      >
        <Commands
          form={form}
          field="start_commands"
          noun="start command"
          placeholder="redis-server --daemonize yes"
        />
      </FormSection>
    </>
  );
}

interface CommandsProps extends FormSectionProps {
  field: "setup_commands" | "start_commands";
  noun: string;
  placeholder: string;
}

function Commands({ form, field, noun, placeholder }: CommandsProps) {
  const rows = useFieldArray({ control: form.control, name: field });
  const label = noun.charAt(0).toUpperCase() + noun.slice(1);
  return (
    <Rows noun={noun} rows={rows} onAdd={() => rows.append(blankText, { shouldFocus: false })}>
      {(index) => (
        <TextAreaField
          compact
          label={`${label} ${index + 1}`}
          {...form.field(`${field}.${index}.text`, (text) => (text.trim() ? text : undefined))}
          rows={Math.min(12, form.watch(`${field}.${index}.text`)?.split("\n").length ?? 1)}
          placeholder={placeholder}
          spellCheck={false}
          className="min-h-9! field-sizing-content max-h-72 resize-y py-1.5! font-mono text-xs leading-6"
        />
      )}
    </Rows>
  );
}
