import { SelectField, TextField } from "../../../ui/form/fields.tsx";
import { FormSection, type FormSectionProps } from "./form-section.tsx";

export function FormImage({ form, secrets }: FormSectionProps & { secrets: string[] }) {
  return (
    <FormSection
      title="Image"
      lead="The system in which commands run, as an OCI image. Setup commands run as root in it, so they can install packages. Without an image, commands run on the worker's own system, which is read-only."
    >
      <TextField
        label="Image"
        {...form.field("docker_image")}
        optional
        placeholder="debian:12, node:24 or ghcr.io/acme/ci:main"
        spellCheck={false}
      />
      {form.watch("docker_image") && (
        <div className="grid gap-4 sm:grid-cols-2">
          <SelectField
            label="Registry credentials"
            {...form.select("docker_image_secret")}
            hint="A secret with user:password. It never enters a sandbox."
          >
            <option value="">None</option>
            {secrets.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </SelectField>
          <TextField
            label="User"
            {...form.field("user")}
            optional
            placeholder="The image's user"
            hint="Runs the agent's commands. Setup commands run as root."
            spellCheck={false}
          />
        </div>
      )}
    </FormSection>
  );
}
