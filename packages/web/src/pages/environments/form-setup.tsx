import { Field, TextArea } from "../../ui/field.tsx";
import { Rows } from "../../ui/rows.tsx";
import { blankText } from "./draft.ts";
import { PartFrame, type PartProps } from "./form-parts.tsx";

export function FormSetup({ draft, change, faults }: PartProps) {
  return (
    <PartFrame
      title="Setup commands"
      lead="Run once, in this order, when the environment is built; every run starts from a copy of the result. They see neither variables nor secrets: what they made of them would stay in the build."
    >
      <Rows noun="command" rows={draft.setup} blank={blankText} onChange={(setup) => change({ setup })}>
        {(row, index, changeRow) => {
          const wrong = faults[`/setup_commands/${index}`];
          return (
            <Field compact label={`Command ${index + 1}`} error={wrong}>
              {(parts) => (
                <TextArea
                  {...parts}
                  value={row.text}
                  rows={Math.min(12, row.text.split("\n").length)}
                  placeholder="npm ci"
                  spellCheck={false}
                  className="min-h-9! field-sizing-content max-h-72 resize-y py-1.5! font-mono text-xs leading-6"
                  onChange={({ target }) => changeRow({ text: target.value })}
                />
              )}
            </Field>
          );
        }}
      </Rows>
    </PartFrame>
  );
}
