import { useFieldArray } from "react-hook-form";
import { TextAreaField } from "../../../ui/form/fields.tsx";
import { Rows } from "../../../ui/form/rows.tsx";
import { FormSection, type FormSectionProps } from "./form-section.tsx";
import { blankText } from "./values.ts";

export function FormSetup({ form }: FormSectionProps) {
  const rows = useFieldArray({ control: form.control, name: "setup_commands" });
  return (
    <FormSection
      title="Setup commands"
      lead="Run once, in order, when the environment is built. Every run starts from a copy of the result. Setup commands can read the variables, and the secrets that you select for them."
    >
      <Rows noun="command" rows={rows} onAdd={() => rows.append(blankText, { shouldFocus: false })}>
        {(index) => (
          <TextAreaField
            compact
            label={`Command ${index + 1}`}
            {...form.field(`setup_commands.${index}.text`, (text) => (text.trim() ? text : undefined))}
            rows={Math.min(12, form.watch(`setup_commands.${index}.text`)?.split("\n").length ?? 1)}
            placeholder="npm ci"
            spellCheck={false}
            className="min-h-9! field-sizing-content max-h-72 resize-y py-1.5! font-mono text-xs leading-6"
          />
        )}
      </Rows>
    </FormSection>
  );
}
