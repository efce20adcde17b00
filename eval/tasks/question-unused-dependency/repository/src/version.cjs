const { valid } = require("semver");

module.exports = { isVersion: (text) => valid(text) !== null };
