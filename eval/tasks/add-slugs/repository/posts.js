export const posts = [];
