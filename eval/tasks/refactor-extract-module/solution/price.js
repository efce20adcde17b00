export function priceOrder({ items, coupon }) {
  let cents = 0;
  for (const { cents: price, quantity } of items) cents += price * quantity;
  if (coupon === "TEN") cents = Math.round(cents * 0.9);
  return { total: cents, shipping: cents >= 5000 ? 0 : 490 };
}
