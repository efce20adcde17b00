import { useFieldArray } from "react-hook-form";
import { TextField } from "../../../ui/form/fields.tsx";
import { Rows } from "../../../ui/form/rows.tsx";
import { parseVerbatim } from "../../../ui/form/use-request-form.ts";
import { FormSection, type FormSectionProps } from "./form-section.tsx";
import { blankVariable } from "./values.ts";

export function FormVariables({ form }: FormSectionProps) {
  const rows = useFieldArray({ control: form.control, name: "variables" });
  return (
    <FormSection
      title="Variables"
      lead="Passed to setup commands and to every command of a run. All users can read them here. Use secrets for confidential values."
    >
      <Rows
        noun="variable"
        rows={rows}
        onAdd={() => rows.append(blankVariable, { shouldFocus: false })}
        unordered
      >
        {(index) => (
          <div className="grid gap-2 sm:grid-cols-[1fr_2fr]">
            <TextField
              compact
              label={`Name ${index + 1}`}
              {...form.field(`variables.${index}.name`)}
              placeholder="NODE_ENV"
              spellCheck={false}
              className="font-mono text-xs"
            />
            <TextField
              compact
              label={`Value ${index + 1}`}
              {...form.field(`variables.${index}.value`, parseVerbatim)}
              placeholder="test"
              spellCheck={false}
              className="font-mono text-xs"
            />
          </div>
        )}
      </Rows>
    </FormSection>
  );
}
