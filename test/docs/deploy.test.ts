import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "@jest/globals";
import { parseAllDocuments } from "yaml";
import { settings } from "../../src/config.ts";
import { limitsInCode } from "../support/limits-in-code.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(path.join(root, "docs/deploy.md"), "utf8");
const names: string[] = Object.values(settings).map(({ name }) => name);
const processes = readFileSync(path.join(root, "Procfile"), "utf8");

/** The pieces of the page by the file that their first line names. */
const pieces = Object.fromEntries(
  [...page.matchAll(/```\w+\n# ([\w./@-]+)\n([\s\S]*?)```/g)].map(([, file, text]) => [file!, text!]),
);
const haproxy = pieces["/etc/haproxy/haproxy.cfg"]!;
const nginx = pieces["/etc/nginx/conf.d/addon.conf"]!;
const units = Object.entries(pieces).filter(([file]) => file.endsWith(".service"));
const [job, deployment, service] = ["migrate.yaml", "web.yaml"].flatMap((file) =>
  parseAllDocuments(pieces[file]!).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as Manifest;
  }),
) as [Manifest, Manifest, Manifest];
const pods = [job, deployment].map(({ spec }) => spec.template!.spec);

const limit = (name: string, file = "") =>
  limitsInCode().find((each) => each.name === name && each.file.endsWith(file))!.values[0]! / 1_000;
/** In s. */
const [longestStop, keepAlive, headers, request] = [
  limit("LONGEST_STOP_MS"),
  limit("keepAliveTimeout"),
  limit("headersTimeout"),
  limit("requestTimeout"),
];
/** How long the platform waits for an answer, in s. */
const longestRequest = limit("LONGEST_REQUEST_MS");

describe("docs/deploy.md: what a process is started with", () => {
  const commands = [
    ...units.flatMap(([, text]) =>
      [...text.matchAll(/^ExecStart=\/usr\/bin\/(.+)$/gm)].map(([, each]) => each!),
    ),
    ...pods.flatMap(({ containers }) => containers.map(({ command }) => command?.join(" "))),
    ...[...page.matchAll(/`command: \[(.+?)\]`/g)].map(([, each]) => each!.replaceAll(",", "")),
  ].filter((each) => each !== undefined);

  it("is what the Procfile starts", () => {
    expect(commands).toHaveLength(4);
    for (const command of commands) expect(processes).toMatch(new RegExp(`^\\w+: .*${command}$`, "m"));
  });

  it("are settings that exist", () => {
    const set = [
      ...units.flatMap(([, text]) => [...text.matchAll(/^Environment=(\w+)=/gm)].map(([, name]) => name!)),
      ...pods.flatMap(({ containers }) => containers.flatMap(({ env = [] }) => env.map(({ name }) => name))),
    ];
    expect(set).toEqual(["PORT", "TRUST_PROXY"]);
    expect(set.filter((name) => !names.includes(name))).toEqual([]);
  });

  it("is the owner's role for the migration alone", () => {
    const withOwner = Object.entries(pieces).filter(([, text]) => /owner/.test(text));
    expect(withOwner.map(([file]) => file)).toEqual([
      "/etc/systemd/system/addon-migrate.service",
      "migrate.yaml",
    ]);
    expect(processes).toMatch(/^web: env -u MIGRATION_DATABASE_URL node /m);
    expect(processes).toMatch(/^worker: env -u MIGRATION_DATABASE_URL node /m);
  });
});

describe("docs/deploy.md: a stop", () => {
  it("has the time that a process may take", () => {
    for (const [, text] of units)
      for (const [, seconds] of text.matchAll(/^TimeoutStopSec=(\d+)$/gm))
        expect(Number(seconds)).toBeGreaterThan(longestStop);
    const { terminationGracePeriodSeconds: grace, containers } = deployment.spec.template!.spec;
    expect(grace! - containers[0]!.lifecycle!.preStop.sleep.seconds).toBeGreaterThan(longestStop);
    expect(page).toContain(`${longestStop + 5} s until SIGKILL, as a process may take ${longestStop} s`);
  });

  it("is not followed by a start that cannot succeed", () => {
    expect(pieces["/etc/systemd/system/addon-web@.service"]).toMatch(/^RestartPreventExitStatus=78$/m);
  });
});

describe("docs/deploy.md: health", () => {
  const [web] = deployment.spec.template!.spec.containers;

  it("is asked for at /healthz, which no outage of the database concerns", () => {
    const { readinessProbe, livenessProbe, startupProbe } = web!;
    expect([readinessProbe, livenessProbe, startupProbe].map((each) => each!.httpGet)).toEqual([
      { path: "/healthz", port: "http" },
      { path: "/healthz", port: "http" },
      { path: "/readyz", port: "http" },
    ]);
    expect(haproxy).toMatch(/^ {2}option httpchk GET \/healthz$/m);
    expect(haproxy).not.toContain("readyz");
  });

  it("is asked for at the port on which the service listens", () => {
    expect(web!.ports).toEqual([{ name: "http", containerPort: Number(settings.port.standard) }]);
    expect(service.spec.ports![0]!.targetPort).toBe("http");
  });
});

describe("docs/deploy.md: a router", () => {
  const times = (text: string, name: string) => Number(new RegExp(`\\b${name} (\\d+)s`).exec(text)![1]);

  it("leaves the service the time that it takes", () => {
    expect([times(haproxy, "timeout server"), times(nginx, "proxy_read_timeout")]).toEqual([25, 25]);
    expect(times(haproxy, "timeout server")).toBeGreaterThan(longestRequest);
    for (const [text, name] of [
      [haproxy, "timeout http-keep-alive"],
      [nginx, "keepalive_timeout"],
    ] as const)
      expect(times(text, name)).toBeLessThan(keepAlive!);
    expect(page).toContain(`the service closes its own after ${keepAlive} s`);
  });

  it("gives callers the time that the service gives", () => {
    expect([times(haproxy, "timeout http-request"), times(nginx, "client_header_timeout")]).toEqual([
      headers,
      headers,
    ]);
    expect([times(haproxy, "timeout client"), times(nginx, "client_body_timeout")]).toEqual([
      request,
      request,
    ]);
  });

  it("lets every body through that the service takes", () => {
    const largest = limitsInCode().filter(
      ({ name, file }) => name === "MOST_BODY_BYTES" && /partner-api|people|operator/.test(file),
    );
    expect(largest).toHaveLength(3);
    expect(Number(/client_max_body_size (\d+)k/.exec(nginx)![1]) * 1024).toBe(
      Math.max(...largest.map(({ values }) => values[0]!)),
    );
  });

  it("sends the headers that TRUST_PROXY is about", () => {
    for (const text of [haproxy, nginx]) expect(text).toMatch(/X-Forwarded-Proto https/);
    expect(haproxy).toMatch(/option forwardfor/);
    expect(nginx).toMatch(/X-Forwarded-For \$proxy_add_x_forwarded_for/);
  });
});

describe("docs/deploy.md: the programs themselves", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "addon-deploy-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, text: string) => {
    writeFileSync(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const has = (program: string) =>
    ["/usr/sbin", "/usr/bin"].map((each) => path.join(each, program)).find(existsSync);
  const run = (program: string, words: string[]) =>
    execFileSync(program, words, { stdio: "pipe", encoding: "utf8" });
  const certificate = () => {
    const [key, crt] = [path.join(folder, "key"), path.join(folder, "crt")];
    run("openssl", [
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-keyout",
      key,
      "-out",
      crt,
      "-subj",
      "/CN=a",
    ]);
    write("pem", readFileSync(crt, "utf8") + readFileSync(key, "utf8"));
  };
  const ours = (text: string) => text.replaceAll(/\/etc\/(?:haproxy|nginx)\/addon\.(\w+)/g, `${folder}/$1`);

  const nginxProgram = has("nginx");
  (nginxProgram ? it : it.skip)("nginx takes its configuration", () => {
    certificate();
    // It opens what it would listen on.
    const whole = `pid ${folder}/pid; error_log stderr; events {} http { access_log off; ${ours(nginx).replace("listen 443", `listen unix:${folder}/nginx`)} }`;
    run(nginxProgram!, ["-t", "-q", "-c", write("nginx.conf", whole)]);
  });

  const haproxyProgram = has("haproxy");
  (haproxyProgram ? it : it.skip)("HAProxy takes its configuration", () => {
    certificate();
    run(haproxyProgram!, ["-c", "-q", "-f", write("haproxy.cfg", ours(haproxy))]);
  });

  const systemd = has("systemd-analyze");
  (systemd ? it : it.skip)("systemd takes its units", () => {
    const files = units.map(([file, text]) =>
      write(path.basename(file).replace("@.", "@3000."), text.replaceAll("/usr/bin/node", process.execPath)),
    );
    // It warns of a key that it does not know, and goes on.
    expect(spawnSync(systemd!, ["verify", ...files], { encoding: "utf8" })).toMatchObject({
      stderr: "",
      status: 0,
    });
  });
});

interface Manifest {
  spec: {
    template?: { spec: Pod };
    ports?: { targetPort: string }[];
  };
}

interface Pod {
  terminationGracePeriodSeconds?: number;
  containers: {
    command?: string[];
    env?: { name: string }[];
    ports?: object[];
    lifecycle?: { preStop: { sleep: { seconds: number } } };
    readinessProbe?: Probe;
    livenessProbe?: Probe;
    startupProbe?: Probe;
  }[];
}

interface Probe {
  httpGet: object;
}
