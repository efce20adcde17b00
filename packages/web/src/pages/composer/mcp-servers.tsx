import { Plus, Trash2 } from "lucide-react";
import { Button, IconButton } from "../../ui/button.tsx";
import { Field, Select, TextArea, TextInput } from "../../ui/field.tsx";
import { emptyServer, type ServerDraft } from "./draft.ts";
import { type Fault, faultAt } from "./faults.ts";

interface McpServersProps {
  servers: ServerDraft[];
  faults: readonly Fault[];
  onChange: (servers: ServerDraft[]) => void;
}

/** Tools that the agent may use besides its own. */
export function McpServers({ servers, faults, onChange }: McpServersProps) {
  const replace = (row: string, part: Partial<ServerDraft>) =>
    onChange(servers.map((server) => (server.row === row ? { ...server, ...part } : server)));
  const whole = faults.filter(({ pointer }) => pointer === "/config/mcp_servers");
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-1.5 font-medium">MCP servers</legend>
      {servers.map((server, at) => (
        <Server
          key={server.row}
          server={server}
          at={at}
          faults={faults}
          onChange={(part) => replace(server.row, part)}
          onRemove={() => onChange(servers.filter(({ row }) => row !== server.row))}
        />
      ))}
      {whole.map(({ message }) => (
        <p key={message} className="text-xs text-bad">
          {`The list ${message}.`}
        </p>
      ))}
      <div>
        <Button
          icon={<Plus className="size-4" aria-hidden />}
          onClick={() => onChange([...servers, emptyServer()])}
        >
          Add an MCP server
        </Button>
      </div>
    </fieldset>
  );
}

interface ServerProps {
  server: ServerDraft;
  at: number;
  faults: readonly Fault[];
  onChange: (part: Partial<ServerDraft>) => void;
  onRemove: () => void;
}

function Server({ server, at, faults, onChange, onRemove }: ServerProps) {
  const { name, kind, target, args, values } = server;
  const isUrl = kind === "url";
  const errorAt = (member: string) => faultAt(faults, `/config/mcp_servers/${at}/${member}`);
  const whole = faults.find(({ pointer }) => pointer === `/config/mcp_servers/${at}`);
  return (
    <div className="grid items-start gap-3 rounded-lg border border-line p-3 sm:grid-cols-[1fr_9rem_2fr_auto]">
      <Field label="Name" error={errorAt("name")}>
        {(parts) => (
          <TextInput {...parts} value={name} onChange={(event) => onChange({ name: event.target.value })} />
        )}
      </Field>
      <Field label="Reached by">
        {(parts) => (
          <Select
            {...parts}
            value={kind}
            onChange={(event) => onChange({ kind: event.target.value as ServerDraft["kind"] })}
          >
            <option value="url">Address</option>
            <option value="command">Command</option>
          </Select>
        )}
      </Field>
      <Field
        label={isUrl ? "Address" : "Program"}
        error={errorAt(isUrl ? "url" : "command") ?? whole?.message}
      >
        {(parts) => (
          <TextInput
            {...parts}
            value={target}
            placeholder={isUrl ? "https://…" : "npx"}
            onChange={(event) => onChange({ target: event.target.value })}
          />
        )}
      </Field>
      <IconButton
        label={`Remove ${name || "this server"}`}
        className="max-sm:order-last max-sm:justify-self-end sm:mt-6"
        icon={<Trash2 className="size-4" aria-hidden />}
        onClick={onRemove}
      />
      {!isUrl && (
        <Field label="Arguments" hint="One a line." error={errorAt("args")} className="sm:col-span-2">
          {(parts) => (
            <TextArea
              {...parts}
              className="font-mono text-xs"
              value={args}
              onChange={(event) => onChange({ args: event.target.value })}
            />
          )}
        </Field>
      )}
      <Field
        label={isUrl ? "Headers" : "Variables"}
        hint={`One ${isUrl ? "Name: value" : "NAME=value"} a line. \${secrets.NAME} stands for a stored secret; values that you type are not kept in this browser.`}
        error={errorAt(isUrl ? "headers" : "env")}
        className={isUrl ? "sm:col-span-3" : ""}
      >
        {(parts) => (
          <TextArea
            {...parts}
            className="font-mono text-xs"
            value={values}
            onChange={(event) => onChange({ values: event.target.value })}
          />
        )}
      </Field>
    </div>
  );
}
