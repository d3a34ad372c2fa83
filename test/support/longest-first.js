import { statSync } from "node:fs";

/** Files that take longest, however short they are: begun last, they would be waited for alone. */
const LONGEST = [
  /alerts-of-/,
  /browser\//,
  /database\/trouble|processes/,
  /make-it-yours|dev\/commands/,
  /containers/,
  /not-checked/,
  /conformance\/test\/(broken-|causes)/,
  /process|put-off|fuzz|bench|dev\/dev|demo|restart/,
  /resources\/races|extend\/rotation/,
];

/** The order in which the files of a run begin: the longest first, the others by their size. */
export default class LongestFirst {
  sort(tests) {
    const place = ({ path }) => {
      const found = LONGEST.findIndex((name) => name.test(path));
      return found < 0 ? LONGEST.length : found;
    };
    const sizeOf = new Map(tests.map((test) => [test, statSync(test.path).size]));
    return [...tests].sort((a, b) => place(a) - place(b) || sizeOf.get(b) - sizeOf.get(a));
  }

  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
}
