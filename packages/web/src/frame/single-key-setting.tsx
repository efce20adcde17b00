import { useState } from "react";
import { Checkbox } from "../ui/form/field.tsx";
import { areSingleKeysEnabled, setSingleKeysEnabled } from "./shortcuts.ts";

export function SingleKeySetting({ className = "" }: { className?: string }) {
  const [on, setOn] = useState(areSingleKeysEnabled);
  return (
    <Checkbox
      className={className}
      label="Single-key shortcuts"
      hint="Turn these off if they interfere with dictation or trigger by accident."
      checked={on}
      onChange={({ target }) => {
        setOn(target.checked);
        setSingleKeysEnabled(target.checked);
      }}
    />
  );
}
