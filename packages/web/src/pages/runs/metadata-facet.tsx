import { limits } from "@outrider/contract/limits";
import { X } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "../../ui/button.tsx";
import { Field, TextInput } from "../../ui/form/field.tsx";
import { Form } from "../../ui/form/form.tsx";
import { Facet } from "./facet.tsx";
import { isPair } from "./search.ts";

interface MetadataFacetProps {
  pairs: readonly string[];
  onChange: (pairs: string[] | undefined) => void;
}

/** Filters by metadata. A run must match every pair. */
export function MetadataFacet({ pairs, onChange }: MetadataFacetProps) {
  const [typed, setTyped] = useState("");
  const [wasSent, setWasSent] = useState(false);
  const isValid = isPair(typed.trim());
  const add = () => {
    setWasSent(!isValid);
    if (!isValid) return;
    onChange([...pairs.filter((pair) => pair !== typed.trim()), typed.trim()]);
    setTyped("");
  };
  return (
    <Facet label="Metadata" value={pairs.length > 0 ? pairs.join(" and ") : undefined}>
      <ul className="flex flex-col empty:hidden">
        {pairs.map((pair) => (
          <li key={pair} className="flex items-center justify-between gap-2 pl-1.5">
            <span className="truncate font-mono text-xs">{pair}</span>
            <IconButton
              label={`Remove ${pair}`}
              small
              icon={<X className="size-4" aria-hidden />}
              onClick={() => {
                const rest = pairs.filter((each) => each !== pair);
                onChange(rest.length > 0 ? rest : undefined);
              }}
            />
          </li>
        ))}
      </ul>
      {pairs.length < limits.metadata.filters && (
        <Form onSubmit={add} className="flex flex-col gap-2 p-1">
          <Field
            label="Label"
            error={
              isValid
                ? undefined
                : typed.includes("=")
                  ? "must have a key of letters, digits, dots, dashes and underscores"
                  : wasSent
                    ? "must be a key and a value, such as `team=platform`"
                    : undefined
            }
          >
            {(parts) => (
              <TextInput
                {...parts}
                value={typed}
                placeholder="team=platform"
                onChange={({ target }) => setTyped(target.value)}
              />
            )}
          </Field>
          <Button small type="submit" className="self-end">
            Add
          </Button>
        </Form>
      )}
    </Facet>
  );
}
