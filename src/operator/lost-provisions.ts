export { lostProvisions, type LostProvision } from "../resources/lost-provisions.ts";
