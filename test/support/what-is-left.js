import process from "node:process";

/** The last line of `npm test`. */
export default class WhatIsLeft {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numTotalTestSuites }) {
    const failed = numFailedTests > 0 ? `, ${numFailedTests} failed` : "";
    const words = `${numPassedTests} tests passed${failed}, in ${numTotalTestSuites} files. npm run test:all runs the rest.`;
    process.once("exit", () => process.stderr.write(`\n${words}\n`));
  }
}
