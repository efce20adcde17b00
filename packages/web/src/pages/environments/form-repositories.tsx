import { faultAt } from "../../faults.ts";
import { Field, Select, TextInput } from "../../ui/field.tsx";
import { Rows } from "../../ui/rows.tsx";
import { blankRepository } from "./draft.ts";
import { PartFrame, type PartProps } from "./form-parts.tsx";

export function FormRepositories({ draft, change, faults, secrets }: PartProps & { secrets: string[] }) {
  return (
    <PartFrame
      title="Repositories"
      lead={
        <>
          Checked out in <code>/workspace</code> before a run begins: <code>owner/repo</code> on the
          installation's git host, or an https or ssh address. The secret is what it is fetched with; it never
          enters a sandbox.
        </>
      }
    >
      <Rows
        noun="repository"
        rows={draft.repos}
        blank={blankRepository}
        onChange={(repos) => change({ repos })}
      >
        {(row, index, changeRow) => {
          const at = (...members: string[]) =>
            faultAt(faults, ...members.map((member) => `/repos/${index}${member}`));
          const wrong = at("", "/url", "/owner", "/repo");
          return (
            <div className="grid gap-2 sm:grid-cols-6">
              <Field compact label={`Repository ${index + 1}`} error={wrong} className="sm:col-span-6">
                {(parts) => (
                  <TextInput
                    {...parts}
                    value={row.address}
                    placeholder="acme/api or https://git.example.com/api.git"
                    spellCheck={false}
                    onChange={({ target }) => changeRow({ address: target.value })}
                  />
                )}
              </Field>
              <Field compact label="Branch, tag or commit" error={at("/ref")} className="sm:col-span-2">
                {(parts) => (
                  <TextInput
                    {...parts}
                    value={row.ref}
                    placeholder="its default branch"
                    spellCheck={false}
                    onChange={({ target }) => changeRow({ ref: target.value })}
                  />
                )}
              </Field>
              <Field compact label="Folder" error={at("/path")} className="sm:col-span-2">
                {(parts) => (
                  <TextInput
                    {...parts}
                    value={row.path}
                    placeholder="its name"
                    spellCheck={false}
                    onChange={({ target }) => changeRow({ path: target.value })}
                  />
                )}
              </Field>
              <Field compact label="Fetched with" error={at("/secret")} className="sm:col-span-2">
                {(parts) => (
                  <Select
                    {...parts}
                    value={row.secret}
                    onChange={({ target }) => changeRow({ secret: target.value })}
                  >
                    <option value="">no secret</option>
                    {secrets.map((name) => (
                      <option key={name}>{name}</option>
                    ))}
                  </Select>
                )}
              </Field>
            </div>
          );
        }}
      </Rows>
    </PartFrame>
  );
}
