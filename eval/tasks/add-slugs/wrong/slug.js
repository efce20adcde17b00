/** Returns a slug for a title that is not in `taken`. */
export function slugify(title, taken) {
  const slug = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "untitled";
  return taken.has(slug) ? `${slug}-${taken.size + 1}` : slug;
}
