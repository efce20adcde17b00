import "./markdown.css";
import { Children, isValidElement, memo, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { CopyButton } from "../../../../ui/text/copy.tsx";
import { Code } from "./code.tsx";
import { ExternalLink } from "./external-link.tsx";

const plugins = [remarkGfm];

/** Renders untrusted Markdown. HTML is shown as text, images become links, and headings are plain paragraphs. */
const components: Components = {
  a: ({ href, children }) => <ExternalLink to={href}>{children}</ExternalLink>,
  img: ({ src, alt }) => (
    <ExternalLink to={typeof src === "string" ? src : undefined}>{alt || "image"}</ExternalLink>
  ),
  h1: ({ children }) => <p className="heading text-base">{children}</p>,
  h2: ({ children }) => <p className="heading text-base">{children}</p>,
  h3: ({ children }) => <p className="heading">{children}</p>,
  h4: ({ children }) => <p className="heading">{children}</p>,
  h5: ({ children }) => <p className="heading">{children}</p>,
  h6: ({ children }) => <p className="heading">{children}</p>,
  input: ({ checked }) => <span aria-hidden>{checked ? "☑ " : "☐ "}</span>,
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
    <section aria-label="Table" tabIndex={0} className="table-box">
      <table>{children}</table>
    </section>
  ),
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
};

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={plugins} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

function CodeBlock({ children }: { children: ReactNode }) {
  const code = Children.toArray(children).find((child) => isValidElement<CodeProps>(child));
  const { className = "", children: words } = isValidElement<CodeProps>(code) ? code.props : {};
  const text = typeof words === "string" ? words.replace(/\n$/, "") : "";
  return (
    <div className="relative my-2 overflow-hidden rounded-md border border-line bg-code">
      <div className="absolute top-1 right-1 rounded-md bg-code">
        <CopyButton text={text} what="code" />
      </div>
      <section
        aria-label="Code"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
        tabIndex={0}
        className="overflow-x-auto px-3 py-2 -outline-offset-2"
      >
        <Code text={text} language={/language-([\w+#-]+)/.exec(className)?.[1]} />
      </section>
    </div>
  );
}

interface CodeProps {
  className?: string;
  children?: ReactNode;
}
