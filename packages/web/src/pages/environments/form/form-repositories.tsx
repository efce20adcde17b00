import { useFieldArray } from "react-hook-form";
import { SelectField, TextField } from "../../../ui/form/fields.tsx";
import { Rows } from "../../../ui/form/rows.tsx";
import { FormPublish } from "./form-publish.tsx";
import { FormSection, type FormSectionProps } from "./form-section.tsx";
import { ProposeSettings } from "./propose-settings.tsx";
import { blankRepository } from "./values.ts";

interface FormRepositoriesProps extends FormSectionProps {
  secrets: string[];
  /** Whether settings can be proposed from the first repository. */
  proposes: boolean;
}

export function FormRepositories({ form, secrets, proposes }: FormRepositoriesProps) {
  const rows = useFieldArray({ control: form.control, name: "repos" });
  return (
    <FormSection
      title="Repositories"
      lead={
        <>
          Checked out to <code>/workspace</code> before a run starts: <code>owner/repo</code> on the
          installation's git host, or an HTTPS or SSH URL. The secret is only used to fetch the repository; it
          never enters a sandbox.
        </>
      }
    >
      <Rows noun="repository" rows={rows} onAdd={() => rows.append(blankRepository, { shouldFocus: false })}>
        {(index) => (
          <div className="grid gap-2 sm:grid-cols-6">
            <TextField
              compact
              label={`Repository ${index + 1}`}
              {...form.field(`repos.${index}.address`)}
              placeholder="acme/api or https://git.example.com/api.git"
              spellCheck={false}
              fieldClassName="sm:col-span-6"
            />
            <TextField
              compact
              label="Branch, tag or commit"
              {...form.field(`repos.${index}.ref`)}
              placeholder="Default branch"
              spellCheck={false}
              fieldClassName="sm:col-span-2"
            />
            <TextField
              compact
              label="Folder"
              {...form.field(`repos.${index}.path`)}
              placeholder="Repository name"
              spellCheck={false}
              fieldClassName="sm:col-span-2"
            />
            <SelectField
              compact
              label="Secret"
              {...form.select(`repos.${index}.secret`)}
              fieldClassName="sm:col-span-2"
            >
              <option value="">None</option>
              {secrets.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </SelectField>
            <SelectField
              compact
              label="Submodules"
              {...form.select(`repos.${index}.submodules`)}
              fieldClassName="sm:col-span-2"
            >
              <option value="">Check out</option>
              <option value="skip">Skip</option>
            </SelectField>
            <SelectField
              compact
              label="Git LFS files"
              {...form.select(`repos.${index}.lfs`)}
              fieldClassName="sm:col-span-2"
            >
              <option value="">Download</option>
              <option value="skip">Keep pointers</option>
            </SelectField>
            <TextField
              compact
              label="Only these folders"
              {...form.field(`repos.${index}.sparse_paths`)}
              placeholder="All, or packages/api, docs"
              spellCheck={false}
              fieldClassName="sm:col-span-2"
            />
            <div className="sm:col-span-6">
              <FormPublish form={form} index={index} secrets={secrets} />
            </div>
          </div>
        )}
      </Rows>
      {proposes && <ProposeSettings form={form} />}
    </FormSection>
  );
}
