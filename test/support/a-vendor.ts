import type { VendorResource, YourService } from "../../src/resources/contract.ts";
import { teapots } from "./teapots/index.ts";

type What = Exclude<keyof YourService, "close">;

interface VendorCall {
  what: What;
  uuid: string;
  plan: string;
  key: string;
}

/** A vendor's service that records each call, and can be told to behave differently. */
export interface Vendor extends YourService {
  calls: VendorCall[];
  callsOf(uuid: string, what: What): VendorCall[];
  /** What the next call of a function does instead of the sample's code. Several are used in order. */
  next<Name extends What>(what: Name, instead: YourService[Name]): void;
  /** The next call of a function waits for this, and then runs the sample's code. */
  nextAfter(what: What, happened: Promise<unknown>): void;
  /** Drops replacements that were not used. */
  asUsual(): void;
}

export function aVendor(): Vendor {
  const calls: VendorCall[] = [];
  const instead: { what: What; work: (...given: never[]) => Promise<unknown> }[] = [];

  function recorded<Name extends What>(what: Name): YourService[Name] {
    const call = (resource: VendorResource, ...rest: unknown[]) => {
      calls.push({ what, uuid: resource.uuid, plan: resource.plan, key: resource.idempotencyKey });
      const index = instead.findIndex((one) => one.what === what);
      const work = index < 0 ? teapots[what] : instead.splice(index, 1)[0]!.work;
      return (work as (...given: unknown[]) => unknown)(resource, ...rest);
    };
    return call as YourService[Name];
  }

  return {
    calls,
    callsOf: (uuid, what) => calls.filter((call) => call.uuid === uuid && call.what === what),
    next: (what, work) => void instead.push({ what, work }),
    nextAfter: (what, happened) =>
      void instead.push({
        what,
        work: (...given) =>
          happened.then(() => (teapots[what] as (...given: never[]) => Promise<unknown>)(...given)),
      }),
    asUsual: () => void (instead.length = 0),
    provision: recorded("provision"),
    changePlan: recorded("changePlan"),
    finish: recorded("finish"),
    deprovision: recorded("deprovision"),
  };
}

/** A promise that stays pending until a test calls `open`. */
export function aGate(): { opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
