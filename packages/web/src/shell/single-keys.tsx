import { useState } from "react";
import { Checkbox } from "../ui/field.tsx";
import { singleKeysAreOn, switchSingleKeys } from "./shortcuts.ts";

export function SingleKeys({ className = "" }: { className?: string }) {
  const [on, setOn] = useState(singleKeysAreOn);
  return (
    <Checkbox
      className={className}
      label="Shortcuts of a single key"
      hint="Switch them off if they get in the way of dictation or slip under your fingers."
      checked={on}
      onChange={({ target }) => {
        setOn(target.checked);
        switchSingleKeys(target.checked);
      }}
    />
  );
}
