import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { queries } from "../../queries.ts";
import { Field, TextInput } from "../../ui/form/field.tsx";

interface SkillFieldProps {
  value: string;
  environmentId: string;
  error: string | undefined;
  onChange: (skillSpec: string) => void;
}

/** Suggests known skills, starting with those in the selected environment. Users can also type other skills. */
export function SkillField({ value, environmentId, error, onChange }: SkillFieldProps) {
  const { data: skills = [] } = useQuery(queries.skills());
  const list = useId();
  const near = skills.toSorted(
    (a, b) => Number(b.environments.includes(environmentId)) - Number(a.environments.includes(environmentId)),
  );
  const chosen = skills.find(({ skill_spec }) => skill_spec === value);
  return (
    <Field label="Skill" hint={chosen?.description || "Format: owner/repo:skill-name"} error={error}>
      {(parts) => (
        <>
          <TextInput {...parts} list={list} value={value} onChange={({ target }) => onChange(target.value)} />
          <datalist id={list}>
            {near.map(({ skill_spec, name }) => (
              <option key={skill_spec} value={skill_spec}>
                {name}
              </option>
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
