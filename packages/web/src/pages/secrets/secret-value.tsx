import { Eye, EyeOff } from "lucide-react";
import { useState } from "react";
import { IconButton } from "../../ui/button.tsx";
import { Field, TextArea, TextInput } from "../../ui/field.tsx";

interface SecretValueProps {
  /** What the dialog begins with. */
  isFirst: boolean;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

/**
 * Hidden until somebody wants to see it. A password field drops line breaks, so several lines that are pasted into it are
 * taken here, and can be edited once they are revealed.
 */
export function SecretValue({ isFirst, value, error, onChange }: SecretValueProps) {
  const [isShown, setShown] = useState(false);
  const lines = value.split("\n").length;
  const hint =
    lines > 1 && !isShown
      ? `${lines} lines are hidden. Reveal them to edit.`
      : "At least 8 bytes; several lines are fine. It cannot be read again once it is stored.";
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
            label={isShown ? "Hide the value" : "Reveal the value"}
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
