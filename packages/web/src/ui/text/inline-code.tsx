/** Shows text in which backticks mark code, as in the API's messages. */
export function InlineCode({ text }: { text: string }) {
  return text.split("`").map((part, at) =>
    at % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts have no state.
      <code key={at}>{part}</code>
    ) : (
      part
    ),
  );
}
