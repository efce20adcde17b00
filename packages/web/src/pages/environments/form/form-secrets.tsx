import { Link } from "@tanstack/react-router";
import { Checkboxes } from "../../../ui/form/fields.tsx";
import { FormSection, type FormSectionProps } from "./form-section.tsx";

export function FormSecrets({ form, secrets }: FormSectionProps & { secrets: string[] }) {
  const selected = form.bind("secrets");
  return (
    <FormSection
      title="Secrets"
      lead="Passed to a run's commands as variables of the same name. The agent can read them, so add only what it needs. Values are masked in all output."
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
        <div className="grid max-h-64 gap-x-4 overflow-y-auto sm:grid-cols-2">
          <Checkboxes
            label="Secret"
            {...selected}
            className="min-h-9 items-center! py-1"
            options={secrets.map((value) => ({
              value,
              label: <span className="break-all font-mono text-xs">{value}</span>,
            }))}
          />
        </div>
      )}
    </FormSection>
  );
}
