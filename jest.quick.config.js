import everything from "./jest.config.js";

/**
 * Left to `npm run test:rest`: what needs processes of its own, a terminal or a browser, what waits for seconds, the
 * sandbox, conformance, the documents, and the tools of those who maintain the kit.
 */
export const REST = [
  "\\.slow\\.test\\.ts$",
  "/(packages/\\w+/test|test/(bench|browser|chaos|conformance|dev|docs|examples|process|sandbox))/.*\\.test\\.ts$",
];

/** The tests that a change of `src/` is checked by: `npm test`. */
export default {
  ...everything,
  testPathIgnorePatterns: REST,
  reporters: ["default", "<rootDir>/test/support/what-is-left.js"],
};
