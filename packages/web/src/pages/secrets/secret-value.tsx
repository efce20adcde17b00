import { limits } from "@outrider/contract/limits";
import { Eye, EyeOff } from "lucide-react";
import { useState } from "react";
import { IconButton } from "../../ui/button.tsx";
import { Field, TextArea, TextInput } from "../../ui/form/field.tsx";

interface SecretValueProps {
  /** Whether to focus the field when the dialog opens. */
  isFirst: boolean;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

/**
 * Edits a secret's value, which is hidden by default. Because a password field removes line breaks, pasted text with
 * several lines is handled here and can be edited only after it is revealed.
 */
export function SecretValue({ isFirst, value, error, onChange }: SecretValueProps) {
  const [isShown, setShown] = useState(false);
  const lines = value.split("\n").length;
  const hint =
    lines > 1 && !isShown
      ? `${lines} lines hidden. Reveal the value to edit it.`
      : `At least ${limits.secret.min} bytes, one or more lines. You cannot read it again after saving.`;
  return (
    <Field label="Value" error={error} hint={hint}>
      {(parts) => (
        <div className="flex items-start gap-1">
          {isShown ? (
            <TextArea
              {...parts}
              rows={Math.min(10, Math.max(2, lines))}
              value={value}
              spellCheck={false}
              autoComplete="off"
              className="font-mono text-xs"
              onChange={({ target }) => onChange(target.value)}
            />
          ) : (
            <TextInput
              {...parts}
              type="password"
              data-autofocus={isFirst || undefined}
              value={value}
              readOnly={lines > 1}
              autoComplete="new-password"
              spellCheck={false}
              onChange={({ target }) => onChange(target.value)}
              onPaste={(event) => {
                const text = event.clipboardData.getData("text/plain");
                if (!text.trimEnd().includes("\n")) return;
                event.preventDefault();
                onChange(text);
              }}
            />
          )}
          <IconButton
            label={isShown ? "Hide value" : "Reveal value"}
            aria-pressed={isShown}
            icon={
              isShown ? <EyeOff className="size-4" aria-hidden /> : <Eye className="size-4" aria-hidden />
            }
            onClick={() => setShown(!isShown)}
          />
        </div>
      )}
    </Field>
  );
}
