import { parseAst } from "vitest/node";

export interface Import {
  /** Undefined if the specifier is computed. */
  specifier: string | undefined;
  typeOnly: boolean;
}

export interface SourceInfo {
  imports: Import[];
  readsEnv: boolean;
}

type Node = { type: string } & Record<string, unknown>;

/** Parses a source file and returns its imports and whether it reads process.env. */
export function readSource(path: string, text: string): SourceInfo {
  const info: SourceInfo = { imports: [], readsEnv: false };
  walk(parseAst(text, { lang: path.endsWith("x") ? "tsx" : "ts" }) as unknown as Node, (node) => {
    if (node.source !== undefined && node.source !== null) {
      info.imports.push({ specifier: literal(node.source as Node), typeOnly: isTypeOnly(node) });
    }
    info.readsEnv ||= readsEnv(node);
  });
  return info;
}

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const child of Object.values(node).flat()) {
    if (typeof child === "object" && child !== null && "type" in child) walk(child as Node, visit);
  }
}

function literal(node: Node): string | undefined {
  return typeof node.value === "string" ? node.value : undefined;
}

function isTypeOnly(node: Node): boolean {
  if (node.type === "TSImportType" || node.importKind === "type" || node.exportKind === "type") return true;
  const specifiers = (node.specifiers ?? []) as Node[];
  return (
    specifiers.length > 0 &&
    specifiers.every((specifier) => (specifier.importKind ?? specifier.exportKind) === "type")
  );
}

/** Recognizes `process.env`, `process["env"]`, `const { env } = process` and imports from node:process. */
function readsEnv(node: Node): boolean {
  const hasName = (value: unknown, name: string) =>
    (value as Node | null)?.name === name || (value as Node | null)?.value === name;
  if (node.type === "MemberExpression") {
    const object = node.object as Node;
    return (
      hasName(node.property, "env") && (hasName(object, "process") || hasName(object.property, "process"))
    );
  }
  if (node.type === "VariableDeclarator") {
    const properties = ((node.id as Node).properties ?? []) as Node[];
    return (
      hasName(node.init, "process") &&
      properties.some((property) => hasName(property.key, "env") || property.type === "RestElement")
    );
  }
  if (node.type !== "ImportDeclaration" || !/^(node:)?process$/.test(literal(node.source as Node) ?? ""))
    return false;
  return (node.specifiers as Node[]).some(
    (specifier) => specifier.type !== "ImportSpecifier" || hasName(specifier.imported, "env"),
  );
}
