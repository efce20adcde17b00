export function validateOrder({ items }) {
  if (!Array.isArray(items) || items.length === 0) throw new Error("An order needs items.");
  for (const { sku, quantity } of items) {
    if (!/^[A-Z]{3}-\d+$/.test(sku)) throw new Error(`Invalid SKU: ${sku}`);
    if (!Number.isInteger(quantity) || quantity < 1) throw new Error(`Invalid quantity: ${quantity}`);
  }
}
