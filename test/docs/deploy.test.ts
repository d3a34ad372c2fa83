import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { settings } from "../../src/config.ts";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
const page = read("docs/deploy.md");
const processes = read("Procfile");
/** A process that stops ends within this time, in s. */
const LONGEST_STOP = 25;

/** The pieces of the page by the file that their first line names. */
const pieces = Object.fromEntries(
  [...page.matchAll(/```\w+\n# ([\w./@-]+)\n([\s\S]*?)```/g)].map(([, file, text]) => [file!, text!]),
);
const units = Object.entries(pieces).filter(([file]) => file.endsWith(".service"));
const [job, deployment, service] = ["migrate.yaml", "web.yaml"].flatMap((file) =>
  parseAllDocuments(pieces[file]!).map((document) => document.toJS() as Manifest),
) as [Manifest, Manifest, Manifest];
const pods = [job, deployment].map(({ spec }) => spec.template!.spec);
const [web] = deployment.spec.template!.spec.containers;

describe("the pieces of docs/deploy.md", () => {
  it("start what the Procfile starts, with settings that exist", () => {
    const commands = [
      ...units.flatMap(([, text]) =>
        [...text.matchAll(/^ExecStart=\/usr\/bin\/(.+)$/gm)].map(([, each]) => each!),
      ),
      ...pods.flatMap(({ containers }) => containers.flatMap(({ command }) => command?.join(" ") ?? [])),
    ];
    expect(commands).not.toEqual([]);
    for (const command of commands) expect(processes).toMatch(new RegExp(`^\\w+: .*${command}$`, "m"));
    const set = [
      ...units.flatMap(([, text]) => [...text.matchAll(/^Environment=(\w+)=/gm)].map(([, name]) => name!)),
      ...pods.flatMap(({ containers }) => containers.flatMap(({ env = [] }) => env.map(({ name }) => name))),
    ];
    const known = Object.values(settings).map(({ name }) => name as string);
    expect(set.filter((name) => !known.includes(name))).toEqual([]);
  });

  it("leave a process the time to stop, and do not start one again that cannot start", () => {
    for (const [, text] of units)
      for (const [, seconds] of text.matchAll(/^TimeoutStopSec=(\d+)$/gm))
        expect(Number(seconds)).toBeGreaterThan(LONGEST_STOP);
    const { terminationGracePeriodSeconds: grace } = deployment.spec.template!.spec;
    expect(grace! - web!.lifecycle!.preStop.sleep.seconds).toBeGreaterThan(LONGEST_STOP);
    expect(pieces["/etc/systemd/system/addon-web@.service"]).toMatch(/^RestartPreventExitStatus=78$/m);
  });

  it("ask for health at the service's port, where no outage of the database takes it out", () => {
    expect([web!.readinessProbe, web!.livenessProbe]).toEqual(
      [{ httpGet: { path: "/healthz", port: "http" } }, { httpGet: { path: "/healthz", port: "http" } }].map(
        (each) => expect.objectContaining(each) as unknown,
      ),
    );
    expect(pieces["/etc/haproxy/haproxy.cfg"]).not.toContain("readyz");
    expect(web!.ports).toEqual([{ name: "http", containerPort: Number(settings.port.standard) }]);
    expect(service.spec.ports![0]!.targetPort).toBe("http");
  });

  it("give the migration alone the owner's role", () => {
    const withOwner = Object.entries(pieces).filter(([, text]) => /owner/.test(text));
    expect(withOwner.map(([file]) => file)).toEqual([
      "/etc/systemd/system/addon-migrate.service",
      "migrate.yaml",
    ]);
  });
});

interface Manifest {
  spec: { template?: { spec: Pod }; ports?: { targetPort: string }[] };
}

interface Pod {
  terminationGracePeriodSeconds?: number;
  containers: {
    command?: string[];
    env?: { name: string }[];
    ports?: object[];
    lifecycle?: { preStop: { sleep: { seconds: number } } };
    readinessProbe?: object;
    livenessProbe?: object;
  }[];
}
