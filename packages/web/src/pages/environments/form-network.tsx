import { Field, TextInput } from "../../ui/field.tsx";
import { Rows } from "../../ui/rows.tsx";
import { blankText } from "./draft.ts";
import { PartFrame, type PartProps } from "./form-parts.tsx";
import { networkModes } from "./network.ts";

export function FormNetwork({ draft, change, faults }: PartProps) {
  return (
    <PartFrame
      title="Network"
      lead="What commands can reach, in runs and while building. Private and metadata addresses are refused in every mode unless the worker's operator allows them."
    >
      <div role="radiogroup" aria-label="Network" className="flex flex-col gap-1">
        {networkModes.map(({ mode, label, meaning }) => (
          <label key={mode} className="flex min-h-9 items-start gap-2 py-1">
            <input
              type="radio"
              name="network"
              className="mt-0.5 size-4 shrink-0 accent-accent"
              checked={draft.mode === mode}
              onChange={() =>
                change({
                  mode,
                  ...(mode === "allowlist" && draft.allow.length === 0 ? { allow: [blankText()] } : {}),
                })
              }
            />
            <span>
              {label}
              <span className="block text-xs text-muted">{meaning}</span>
            </span>
          </label>
        ))}
      </div>
      {draft.mode === "allowlist" && (
        <Rows
          noun="domain"
          rows={draft.allow}
          blank={blankText}
          onChange={(allow) => change({ allow })}
          unordered
        >
          {(row, index, changeRow) => {
            const wrong =
              faults[`/network/allow/${index}`] ?? (index === 0 ? faults["/network/allow"] : undefined);
            return (
              <Field compact label={`Domain ${index + 1}`} error={wrong}>
                {(parts) => (
                  <TextInput
                    {...parts}
                    value={row.text}
                    placeholder="registry.example.com or *.example.com"
                    spellCheck={false}
                    onChange={({ target }) => changeRow({ text: target.value })}
                  />
                )}
              </Field>
            );
          }}
        </Rows>
      )}
    </PartFrame>
  );
}
