import * as answers from "./broken/answers.ts";
import * as lives from "./broken/lives.ts";
import { eachIsCaught } from "./each-is-caught.ts";

eachIsCaught("what it answers", { ...answers, ...lives });
