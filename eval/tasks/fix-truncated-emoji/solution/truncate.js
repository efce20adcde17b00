const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

export function truncate(text, max) {
  const characters = Array.from(segmenter.segment(text), ({ segment }) => segment);
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
}
