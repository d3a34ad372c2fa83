import { availableParallelism } from "node:os";
import everything from "./jest.config.js";
import { REST } from "./jest.quick.config.js";

const { testMatch: _, ...others } = everything;

/** What `npm test` leaves out. Much of it starts processes and browsers, which want processors of their own. */
export default {
  ...others,
  testRegex: REST,
  maxWorkers: 2 * availableParallelism(),
};
