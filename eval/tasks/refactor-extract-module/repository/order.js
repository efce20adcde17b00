export function placeOrder(order) {
  if (!Array.isArray(order.items) || order.items.length === 0) throw new Error("An order needs items.");
  for (const { sku, quantity } of order.items) {
    if (!/^[A-Z]{3}-\d+$/.test(sku)) throw new Error(`Invalid SKU: ${sku}`);
    if (!Number.isInteger(quantity) || quantity < 1) throw new Error(`Invalid quantity: ${quantity}`);
  }
  let cents = 0;
  for (const { cents: price, quantity } of order.items) cents += price * quantity;
  if (order.coupon === "TEN") cents = Math.round(cents * 0.9);
  return { total: cents, shipping: cents >= 5000 ? 0 : 490 };
}
