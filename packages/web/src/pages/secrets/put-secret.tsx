import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { outrider } from "../../api.ts";
import { faultAt, faultsOf } from "../../faults.ts";
import { queryClient } from "../../queries.ts";
import { announce } from "../../shell/announcements.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, TextInput } from "../../ui/field.tsx";
import { FormTrouble } from "../../ui/form-trouble.tsx";
import { SecretValue } from "./secret-value.tsx";

interface PutSecretProps {
  /** One that is stored already, and is replaced. */
  name?: string;
  /** Names that adding must not silently replace. */
  taken: string[];
  onClose: () => void;
}

const MIN_BYTES = 8;
const variableName = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

export function PutSecret({ name: known, taken, onClose }: PutSecretProps) {
  const form = useId();
  const [name, setName] = useState(known ?? "");
  const [value, setValue] = useState("");
  const [wasTried, setTried] = useState(false);
  const storing = useMutation({
    mutationFn: () => outrider.secrets.put(name, { value }),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["secrets"] });
      announce(known ? `${name} is replaced. Runs get the new value from now on.` : `${name} is stored`);
      onClose();
    },
  });
  const own = {
    ...(variableName.test(name)
      ? {}
      : { "/name": "Use letters, digits and underscores, not beginning with a digit." }),
    ...(taken.includes(name)
      ? { "/name": "Is stored already. Replace that one, or choose another name." }
      : {}),
    ...(new TextEncoder().encode(value).length < MIN_BYTES
      ? { "/value": `Must have at least ${MIN_BYTES} bytes: shorter ones cannot be masked.` }
      : {}),
  };
  const faults = { ...faultsOf(storing.error), ...(wasTried ? own : {}) };
  return (
    <Dialog
      open
      keeps
      onClose={onClose}
      title={known ? `Replace ${known}` : "Add a secret"}
      description={known ? "The value that is stored now is lost." : undefined}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} look="primary" busy={storing.isPending}>
            {known ? "Replace secret" : "Store secret"}
          </Button>
        </>
      }
    >
      <form
        id={form}
        noValidate
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (Object.keys(own).length === 0) storing.mutate();
        }}
      >
        {!known && (
          <Field
            label="Name"
            error={faultAt(faults, "/name", "name")}
            hint="Runs find it as a variable of this name."
          >
            {(parts) => (
              <TextInput
                {...parts}
                value={name}
                data-autofocus
                placeholder="GITHUB_TOKEN"
                spellCheck={false}
                className="font-mono text-xs"
                onChange={({ target }) => setName(target.value.trim())}
              />
            )}
          </Field>
        )}
        <SecretValue
          isFirst={known !== undefined}
          value={value}
          error={faultAt(faults, "/value")}
          onChange={setValue}
        />
        <FormTrouble error={storing.error} faults={wasTried ? own : {}} short />
      </form>
    </Dialog>
  );
}
