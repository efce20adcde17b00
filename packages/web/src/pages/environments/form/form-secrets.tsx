import { Link } from "@tanstack/react-router";
import { useId } from "react";
import { Checkboxes } from "../../../ui/form/fields.tsx";
import { FormSection, type FormSectionProps } from "./form-section.tsx";

export function FormSecrets({ form, secrets }: FormSectionProps & { secrets: string[] }) {
  return (
    <FormSection
      title="Secrets"
      lead="Passed to commands as variables of the same name. The agent can read the secrets of runs, so add only what it needs. Values are masked in all output."
    >
      {secrets.length === 0 ? (
        <p className="text-muted">
          No secrets yet.{" "}
          <Link to="/secrets" className="text-accent-ink underline">
            Add a secret
          </Link>{" "}
          first, then select it here.
        </p>
      ) : (
        <>
          <SecretList title="For runs" names={secrets} label="Secret" selected={form.bind("secrets")} />
          <SecretList
            title="For setup commands"
            hint="A build fails if the value of one of these secrets remains in its files."
            names={secrets}
            label="Build secret"
            selected={form.bind("build_secrets")}
          />
        </>
      )}
    </FormSection>
  );
}

interface SecretListProps {
  title: string;
  hint?: string;
  names: string[];
  label: string;
  selected: { value: readonly string[]; error?: string | undefined; onChange(value: string[]): void };
}

function SecretList({ title, hint, names, label, selected }: SecretListProps) {
  const id = useId();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be another section of the form
    <div role="group" aria-labelledby={id}>
      <h3 id={id} className="font-medium">
        {title}
      </h3>
      {hint && <p className="text-xs text-muted">{hint}</p>}
      <div className="grid max-h-64 gap-x-4 overflow-y-auto sm:grid-cols-2">
        <Checkboxes
          label={label}
          {...selected}
          className="min-h-9 items-center! py-1"
          options={names.map((value) => ({
            value,
            label: <span className="break-all font-mono text-xs">{value}</span>,
          }))}
        />
      </div>
    </div>
  );
}
