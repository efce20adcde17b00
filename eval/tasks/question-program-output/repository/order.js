const order = [];
const add = (letter) => order.push(letter);

setTimeout(() => {
  add("b");
  console.log(order.join(" "));
}, 0);
add("a");
Promise.resolve()
  .then(() => add("c"))
  .then(() => add("e"));
add("d");
