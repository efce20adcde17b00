import { Popover } from "radix-ui";
import { useId, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { TextInput } from "../../ui/form/field.tsx";
import { Form } from "../../ui/form/form.tsx";
import { Facet } from "./facet.tsx";

interface TextFacetProps {
  label: string;
  value: string | undefined;
  placeholder: string;
  suggestions: readonly string[];
  onChange: (value: string | undefined) => void;
}

/** Filters by free text and offers suggestions. */
export function TextFacet({ label, value, placeholder, suggestions, onChange }: TextFacetProps) {
  return (
    <Facet label={label} value={value}>
      <TextEntry {...{ label, placeholder, suggestions, onChange }} value={value ?? ""} />
    </Facet>
  );
}

interface TextEntryProps extends Omit<TextFacetProps, "value"> {
  value: string;
}

export function TextEntry({ label, value, placeholder, suggestions, onChange }: TextEntryProps) {
  const [typed, setTyped] = useState(value);
  const list = useId();
  return (
    <Form onSubmit={() => onChange(typed.trim() || undefined)} className="flex flex-col gap-2 p-1">
      <TextInput
        aria-label={label}
        list={list}
        value={typed}
        placeholder={placeholder}
        onChange={({ target }) => setTyped(target.value)}
      />
      <datalist id={list}>
        {suggestions.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <div className="flex justify-end gap-2">
        {value && (
          <Popover.Close asChild>
            <Button small variant="quiet" onClick={() => onChange(undefined)}>
              Clear
            </Button>
          </Popover.Close>
        )}
        <Button small type="submit">
          Apply
        </Button>
      </div>
    </Form>
  );
}
