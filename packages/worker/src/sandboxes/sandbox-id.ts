/** Excludes a provider's own names, which start with a dot, and folders such as lost+found. */
const sandboxId = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,127}$/;

export const isSandboxId = (id: string) => sandboxId.test(id);

export function assertSandboxId(id: string): void {
  if (!isSandboxId(id)) throw new Error(`"${id}" is not a valid sandbox id.`);
}
