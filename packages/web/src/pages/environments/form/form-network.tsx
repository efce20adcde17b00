import { networkPresets } from "@outrider/contract/environment";
import { useFieldArray } from "react-hook-form";
import { TextField } from "../../../ui/form/fields.tsx";
import { Rows } from "../../../ui/form/rows.tsx";
import { networkModes } from "../network.ts";
import { FormSection, type FormSectionProps } from "./form-section.tsx";
import { blankText } from "./values.ts";

export function FormNetwork({ form }: FormSectionProps) {
  const mode = form.bind("network.mode");
  const rows = useFieldArray({ control: form.control, name: "network.allow" });
  const add = () => rows.append(blankText, { shouldFocus: false });
  return (
    <FormSection
      title="Network"
      lead="What commands can reach during runs and builds. Private and metadata addresses are blocked in every mode unless the worker's operator allows them."
    >
      <div role="radiogroup" aria-label="Network" className="flex flex-col gap-1">
        {networkModes.map(({ mode: value, label, meaning }) => (
          <label key={value} className="flex min-h-9 items-start gap-2 py-1">
            <input
              type="radio"
              name="network"
              className="mt-0.5 size-4 shrink-0 accent-accent"
              checked={mode.value === value}
              onChange={() => {
                mode.onChange(value);
                if (value === "allowlist" && rows.fields.length === 0) add();
              }}
            />
            <span>
              {label}
              <span className="block text-xs text-muted">{meaning}</span>
            </span>
          </label>
        ))}
      </div>
      {mode.value === "allowlist" && (
        <>
          <p className="text-xs text-muted">
            Presets: {networkPresets.map((name) => `preset:${name}`).join(", ")}. Each allows what the
            worker's own tools are configured to use, including internal mirrors, and passes the same
            configuration to the sandbox.
          </p>
          <Rows noun="domain" rows={rows} onAdd={add} unordered>
            {(index) => (
              <TextField
                compact
                label={`Domain ${index + 1}`}
                {...form.field(`network.allow.${index}.text`)}
                placeholder="preset:npm, *.example.com or db.example.com:5432"
                spellCheck={false}
              />
            )}
          </Rows>
        </>
      )}
    </FormSection>
  );
}
