import * as tokens from "./broken/tokens.ts";
import { eachIsCaught } from "./each-is-caught.ts";

eachIsCaught("what it asks of the platform", { ...tokens });
