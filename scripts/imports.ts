import { parseAst } from "vitest/node";

export interface Import {
  /** Undefined where the address is computed. */
  to: string | undefined;
  typeOnly: boolean;
}

export interface Facts {
  imports: Import[];
  readsEnv: boolean;
}

type Node = { type: string } & Record<string, unknown>;

/** What a source file imports, and whether it reads the environment, by its syntax tree. */
export function readFacts(path: string, text: string): Facts {
  const facts: Facts = { imports: [], readsEnv: false };
  walk(parseAst(text, { lang: path.endsWith("x") ? "tsx" : "ts" }) as unknown as Node, (node) => {
    if (node.source !== undefined && node.source !== null) {
      facts.imports.push({ to: literal(node.source as Node), typeOnly: isTypeOnly(node) });
    }
    facts.readsEnv ||= isEnv(node);
  });
  return facts;
}

function walk(node: Node, see: (node: Node) => void): void {
  see(node);
  for (const child of Object.values(node).flat()) {
    if (typeof child === "object" && child !== null && "type" in child) walk(child as Node, see);
  }
}

function literal(node: Node): string | undefined {
  return typeof node.value === "string" ? node.value : undefined;
}

function isTypeOnly(node: Node): boolean {
  if (node.type === "TSImportType" || node.importKind === "type" || node.exportKind === "type") return true;
  const specifiers = (node.specifiers ?? []) as Node[];
  return specifiers.length > 0 && specifiers.every((each) => (each.importKind ?? each.exportKind) === "type");
}

/** `process.env`, `process["env"]`, `const { env } = process` and anything taken from node:process. */
function isEnv(node: Node): boolean {
  const named = (value: unknown, name: string) =>
    (value as Node | null)?.name === name || (value as Node | null)?.value === name;
  if (node.type === "MemberExpression") {
    const object = node.object as Node;
    return named(node.property, "env") && (named(object, "process") || named(object.property, "process"));
  }
  if (node.type === "VariableDeclarator") {
    const properties = ((node.id as Node).properties ?? []) as Node[];
    return (
      named(node.init, "process") &&
      properties.some((each) => named(each.key, "env") || each.type === "RestElement")
    );
  }
  if (node.type !== "ImportDeclaration" || !/^(node:)?process$/.test(literal(node.source as Node) ?? ""))
    return false;
  return (node.specifiers as Node[]).some(
    (each) => each.type !== "ImportSpecifier" || named(each.imported, "env"),
  );
}
