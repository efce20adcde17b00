import { useState } from "react";
import { Checkbox, Field, TextInput } from "../../ui/field.tsx";

interface NewPasswordProps {
  /** For the password manager, which has to know whose it is. */
  email: string | undefined;
  value: string;
  onChange: (value: string) => void;
}

export function NewPassword({ email, value, onChange }: NewPasswordProps) {
  const [isShown, setShown] = useState(false);
  return (
    <>
      <input type="text" autoComplete="username" value={email ?? ""} readOnly hidden />
      <Field label="New password" hint="At least 10 characters. Several unrelated words are good.">
        {(parts) => (
          <TextInput
            {...parts}
            type={isShown ? "text" : "password"}
            autoComplete="new-password"
            required
            minLength={10}
            maxLength={256}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
        )}
      </Field>
      <Checkbox label="Show it" checked={isShown} onChange={({ target }) => setShown(target.checked)} />
    </>
  );
}
