import { appReport } from "../../control/app-report.ts";
import type { AppRecord } from "../../world/records.ts";
import type { World } from "../../world/world.ts";
import { Facts, Section, State } from "./parts.tsx";

/** The result of an app's manifest. */
export function SetUp({ world, app }: { world: World; app: AppRecord }) {
  const setup = appReport(world, app).setup!;
  return (
    <Section title="Result of its app.json" id="setup" isLive>
      <Facts
        of={[
          ["set-up", <State of={setup.state} />],
          setup.environment !== null && [
            "kind",
            `a ${setup.environment} app: its add-ons get the ephemeral plan`,
          ],
          setup.success_url !== null && ["success URL", setup.success_url],
          [
            "processes",
            setup.formation.map(({ type, quantity, size }) => `${quantity} × ${type} (${size})`).join(", "),
          ],
          setup.buildpacks.length > 0 && ["buildpacks", setup.buildpacks.join(", ")],
          setup.foreign_addons.length > 0 && [
            "other add-ons",
            setup.foreign_addons.map(({ service }) => service).join(", "),
          ],
          setup.steps.length > 0 && ["steps", setup.steps.map(({ step }) => step).join(", ")],
        ]}
      />
      {setup.warnings.map((warning) => (
        <p class="hint">{warning}</p>
      ))}
    </Section>
  );
}
