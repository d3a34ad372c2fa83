import type { Actions } from "./action.ts";
import { recoverAll, recoverOne } from "./grants.tsx";
import { pushConfig } from "./push.tsx";
import { reseal } from "./reseal.tsx";
import { setClientSecret } from "./secret.tsx";
import { refreshAll, refreshOne } from "./tokens.tsx";

/** All actions. Each is also a command of `kit`. */
export const ACTIONS: Actions = {
  ofOne: [refreshOne, recoverOne, pushConfig],
  ofAll: [refreshAll, recoverAll, setClientSecret, reseal],
};
