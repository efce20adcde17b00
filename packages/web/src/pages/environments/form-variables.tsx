import { Field, TextInput } from "../../ui/field.tsx";
import { Rows } from "../../ui/rows.tsx";
import { blankVariable } from "./draft.ts";
import { PartFrame, type PartProps } from "./form-parts.tsx";

export function FormVariables({ draft, change, faults }: PartProps) {
  return (
    <PartFrame
      title="Variables"
      lead="Reach every command of a run. Everybody can read them here: what should stay hidden is a secret."
    >
      <Rows
        noun="variable"
        rows={draft.variables}
        blank={blankVariable}
        onChange={(variables) => change({ variables })}
        unordered
      >
        {(row, index, changeRow) => {
          const wrong = faults[`/variables/${row.name.trim()}`];
          return (
            <div className="grid gap-2 sm:grid-cols-[1fr_2fr]">
              <Field compact label={`Name ${index + 1}`} error={wrong}>
                {(parts) => (
                  <TextInput
                    {...parts}
                    value={row.name}
                    placeholder="NODE_ENV"
                    spellCheck={false}
                    className="font-mono text-xs"
                    onChange={({ target }) => changeRow({ name: target.value })}
                  />
                )}
              </Field>
              <Field compact label={`Value ${index + 1}`}>
                {(parts) => (
                  <TextInput
                    {...parts}
                    value={row.value}
                    placeholder="test"
                    spellCheck={false}
                    className="font-mono text-xs"
                    onChange={({ target }) => changeRow({ value: target.value })}
                  />
                )}
              </Field>
            </div>
          );
        }}
      </Rows>
    </PartFrame>
  );
}
