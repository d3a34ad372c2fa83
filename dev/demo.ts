import "./no-inspector.ts";
import { exitWith } from "../src/process/run-process.ts";
import { onSignals } from "../src/process/signals.ts";
import { colours } from "./colours.ts";
import { attachedApps, configVars } from "./demo/apps-and-config.ts";
import { secretReset, secretSet } from "./demo/client-secret.ts";
import { customerPage } from "./demo/customer-page.ts";
import { deprovision, nothingLeaked } from "./demo/deprovision.ts";
import { newKey, oldKeyDropped, reseal } from "./demo/key-rotation.ts";
import { later } from "./demo/later.ts";
import { planChange } from "./demo/plan-change.ts";
import { appIsKnown, exchange, provision } from "./demo/provision.ts";
import { fullLife, refresh } from "./demo/refresh.ts";
import { type DemoStage, demoStage } from "./demo/stage.ts";
import type { Step } from "./demo/step.ts";
import { paragraph } from "./story.ts";
import { took } from "./wording.ts";

// `npm run demo`: the whole life of a resource, each step checked at the platform or in the database.

const steps: Step[] = [
  ...[provision, exchange, appIsKnown, refresh, fullLife],
  ...[attachedApps, customerPage, configVars, planChange],
  ...[secretReset, secretSet, newKey, reseal, oldKeyDropped],
  ...[later, deprovision, nothingLeaked],
];

const startedAt = performance.now();
console.log("The life of a resource, on a platform and a database of its own:\n");
let opened: DemoStage | null = null;
const stopped = () => process.exit(130);
onSignals(process, ["SIGINT", "SIGTERM", "SIGHUP"], {
  // Nothing is installed while the stage is starting.
  first: () => (opened ? void opened.close().finally(stopped) : stopped()),
  again: stopped,
});
const stage = (opened = await demoStage().catch((error: unknown) => exitWith(error)));
const held = await play(stage, steps);
const isAllGone = await stage.close();
const time = took(performance.now() - startedAt);
console.log(
  held === steps.length
    ? colours.green(`\nAll ${held} steps held, in ${time}.${isAllGone ? " Nothing is left of it." : ""}`)
    : colours.red(`\n${held} of ${steps.length} steps held; the first that did not ended the demonstration.`),
);
process.exit(held === steps.length && isAllGone ? 0 : 1);

/** Runs the steps in order, up to the first that fails: each builds on what the ones before it made. */
async function play(on: DemoStage, all: Step[]): Promise<number> {
  for (const [index, { title, run }] of all.entries()) {
    const from = performance.now();
    const tell = (mark: string, text: string) => {
      const ms = colours.dim(took(performance.now() - from).padStart(8));
      console.log(`${mark} ${ms}  ${title}\n${colours.dim(paragraph(text, " ".repeat(12)))}`);
    };
    // What a function of yours threw, also if the step held in the end.
    const tellYours = () => on.yourErrors().forEach((words) => console.log(`\n${words}\n`));
    try {
      tell(colours.green("✓"), await run(on));
      tellYours();
    } catch (error) {
      // Of a failed comparison, what comes after its sentence is for who wrote it.
      tell(colours.red("✗"), (error instanceof Error ? error.message : String(error)).split("\n\n")[0]!);
      tellYours();
      return index;
    }
  }
  return all.length;
}
