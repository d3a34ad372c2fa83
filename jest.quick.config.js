import everything from "./jest.config.js";

/**
 * The tests that a change of `src/` is checked by. Left to `npm run test:all`: what needs processes of its own, a
 * terminal or a browser, what waits for seconds (`*.slow.test.ts`), the sandbox, conformance, and the documents.
 */
export default {
  ...everything,
  testPathIgnorePatterns: [
    "\\.slow\\.test\\.ts$",
    "<rootDir>/test/(bench|browser|chaos|conformance|dev|docs|examples|process|sandbox)/",
  ],
  reporters: ["default", "<rootDir>/test/support/what-is-left.js"],
};
