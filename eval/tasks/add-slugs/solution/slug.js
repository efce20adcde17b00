/** Returns a slug for a title that is not in `taken`. */
export function slugify(title, taken) {
  const plain = title.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const slug = plain.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "untitled";
  let free = slug;
  for (let number = 2; taken.has(free); number++) free = `${slug}-${number}`;
  return free;
}
