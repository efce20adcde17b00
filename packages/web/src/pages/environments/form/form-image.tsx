import { SelectField, TextField } from "../../../ui/form/fields.tsx";
import { FormSection, type FormSectionProps } from "./form-section.tsx";

export function FormImage({ form, secrets }: FormSectionProps & { secrets: string[] }) {
  const hasImage = form.watch("docker_image") !== undefined;
  const hasDevcontainer = form.watch("devcontainer") !== undefined;
  const hasDockerfile = form.watch("dockerfile.path") !== undefined;
  return (
    <FormSection
      title="Image"
      lead="The system in which commands run, as an OCI image, or from the devcontainer.json or Dockerfile of the first repository. Setup commands run as root in it, so they can install packages. Without an image, commands run on the worker's own system, which is read-only."
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Image"
          {...form.field("docker_image")}
          optional
          placeholder="debian:12"
          hint="For example node:24-bookworm, python:3.13-bookworm or ghcr.io/acme/ci@sha256:…"
          spellCheck={false}
          disabled={(hasDevcontainer || hasDockerfile) && !hasImage}
        />
        <TextField
          label="Devcontainer"
          {...form.field("devcontainer")}
          optional
          placeholder=".devcontainer/devcontainer.json"
          hint="A file that names the image, variables, user and commands."
          spellCheck={false}
          disabled={(hasImage || hasDockerfile) && !hasDevcontainer}
        />
        <TextField
          label="Dockerfile"
          {...form.field("dockerfile.path")}
          optional
          placeholder="Dockerfile"
          hint="Its last stage provides the system. COPY uses the whole repository."
          spellCheck={false}
          disabled={(hasImage || hasDevcontainer) && !hasDockerfile}
        />
      </div>
      {(hasImage || hasDevcontainer || hasDockerfile) && (
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
            placeholder={
              hasDevcontainer
                ? "The devcontainer's user"
                : hasDockerfile
                  ? "The Dockerfile's user"
                  : "The image's user"
            }
            hint="Runs the agent's commands. Setup commands run as root."
            spellCheck={false}
          />
        </div>
      )}
    </FormSection>
  );
}
