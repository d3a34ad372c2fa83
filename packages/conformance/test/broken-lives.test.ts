import * as lives from "./broken/lives.ts";
import { eachIsCaught } from "./each-is-caught.ts";

eachIsCaught("the life of a resource, and the sign-on to its page", { ...lives });
