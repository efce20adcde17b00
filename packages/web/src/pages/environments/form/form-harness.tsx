import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import { HarnessNote } from "../../../harnesses/harness-note.tsx";
import { HarnessOptions } from "../../../harnesses/harness-options.tsx";
import { useHarness } from "../../../harnesses/harnesses.ts";
import { SelectField } from "../../../ui/form/fields.tsx";
import { FormSection, type FormSectionProps } from "./form-section.tsx";

export function FormHarness({ form }: FormSectionProps) {
  const value = form.watch("harness") ?? "";
  const standard = useHarness(DEFAULT_HARNESS);
  return (
    <FormSection
      title="Harness"
      lead="The agent program that executes runs in this environment. Most work only with the models of some providers, which Settings lists."
    >
      <SelectField
        label="Harness"
        {...form.select("harness")}
        hint={
          <>
            Used unless the run or its cloud agent sets another. <HarnessNote name={value} />
          </>
        }
      >
        <option value="">Default{standard ? ` (${standard.title})` : ""}</option>
        <HarnessOptions value={value} />
      </SelectField>
    </FormSection>
  );
}
