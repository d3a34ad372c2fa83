import * as answers from "./broken/answers.ts";
import { eachIsCaught } from "./each-is-caught.ts";

eachIsCaught("what it answers", { ...answers });
