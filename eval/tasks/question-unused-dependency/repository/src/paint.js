export async function paint(text) {
  const { default: chalk } = await import("chalk");
  return chalk.green(text);
}
