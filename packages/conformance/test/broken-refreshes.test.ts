import * as refreshes from "./broken/refreshes.ts";
import { eachIsCaught } from "./each-is-caught.ts";

eachIsCaught("how it refreshes, and in what it does at certain moments", { ...refreshes });
