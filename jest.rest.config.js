import everything from "./jest.config.js";
import { REST } from "./jest.quick.config.js";

const { testMatch: _, ...others } = everything;

/** What `npm test` leaves out. */
export default { ...others, testRegex: REST, testSequencer: "<rootDir>/test/support/longest-first.js" };
