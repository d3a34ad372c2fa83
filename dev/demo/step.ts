import type { AddonState } from "../../packages/sandbox/index.ts";
import type { DemoStage } from "./stage.ts";

/**
 * One thing that must hold. `run` throws if it does not; otherwise it returns a sentence that says what was observed.
 */
export interface Step {
  title: string;
  run(stage: DemoStage): Promise<string>;
}

/** The resource whose life is shown: the one that was installed first. */
export function theAddon({ sandbox }: DemoStage): AddonState {
  const [addon] = sandbox.control.state().addons;
  if (!addon) throw new Error("Nothing is installed.");
  return addon;
}

/** Every token that the platform has issued, newest last. */
export function issuedTokens({ sandbox }: DemoStage): { access: string[]; refresh: string[] } {
  const answers = sandbox.control
    .ledger({ reveal: true })
    .entries.filter(({ path, response }) => path === "/oauth/token" && (response?.status ?? 500) < 300)
    .map(({ response }) => response!.body as { access_token: string; refresh_token: string });
  return {
    access: answers.map(({ access_token }) => access_token),
    refresh: answers.map(({ refresh_token }) => refresh_token),
  };
}
