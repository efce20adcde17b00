import { limits } from "@outrider/contract/limits";
import { type ComponentProps, useState } from "react";
import { Checkbox } from "../../ui/form/field.tsx";
import { TextField } from "../../ui/form/fields.tsx";

interface NewPasswordProps extends Omit<ComponentProps<typeof TextField>, "label"> {
  /** Tells password managers which account the password belongs to. */
  email: string | undefined;
}

export function NewPassword({ email, ...rest }: NewPasswordProps) {
  const [isShown, setShown] = useState(false);
  return (
    <>
      <input type="text" autoComplete="username" value={email ?? ""} readOnly hidden />
      <TextField
        {...rest}
        label="New password"
        hint={`At least ${limits.password.min} characters. A few unrelated words work well.`}
        type={isShown ? "text" : "password"}
        autoComplete="new-password"
        required
      />
      <Checkbox label="Show password" checked={isShown} onChange={({ target }) => setShown(target.checked)} />
    </>
  );
}
