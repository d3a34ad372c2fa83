import { TO_DO } from "../lost-sales.ts";
import { countedToMost } from "../wording.ts";
import { fact } from "./fact.ts";

// What may be wrong between the platform's ledger and ours: a restored database, differences, lost sales.

const LEDGERS = { path: "/ledgers", name: "What differs between the ledgers, and its cures" };

interface Noticed {
  count: number;
}

/** In a day; more are a mistake of somebody's rather than so many customers' ends. */
const FEW_GONE = 10;
const IS_WAVE =
  "So many at once are rarely true: is ADDON_ID right, was the platform, or our database, restored? Nothing was given up. ";

const asItIs = ({ words }: { words: string }) => words;

export const OF_THE_LEDGERS = {
  database_restored: fact<{ words: string }>({
    title: "The database was restored",
    urgency: "urgent",
    says: asItIs,
    cure: "Compare the ledgers, and then end the hold: kit after-restore (docs/operate.md, After a restore).",
    command: "kit after-restore",
    page: LEDGERS,
    runbook: "After a restore",
    alerts: ["AddonDatabaseRestored"],
    alarms: ["database_restored"],
  }),
  restore_suspected: fact<{ contradicted: string }>({
    title: "The database may have been restored",
    urgency: "urgent",
    says: ({ contradicted }) =>
      `The platform contradicts several rows of the database: ${contradicted}, all noticed within a day. Was it restored while no process ran?`,
    cure: "If it was: kit after-restore (docs/operate.md, After a restore). If not, perhaps the platform was: kit reconcile.",
    command: "kit after-restore",
    page: LEDGERS,
    runbook: "After a restore",
    alarms: ["restore_suspected"],
  }),
  standby_promoted: fact({
    title: "A standby of the database was promoted",
    urgency: "later",
    says: () => "A standby of the database was promoted. What it had not yet received is lost.",
    cure: "Unless it was synchronous: kit reconcile (docs/operate.md, After a failover). This line ends by itself after a day.",
    command: "kit reconcile",
    page: LEDGERS,
    runbook: "After a failover",
    noAlert: "whoever promoted it knows",
  }),
  gone_at_platform: fact<Noticed>({
    title: "Resources are gone at the platform",
    urgency: "urgent",
    says: ({ count }) =>
      `${countedToMost(count, "resource")} gone at the platform; here nothing was changed but that refreshes pause.`,
    names: "resources",
    cure: ({ count }) =>
      `${count > FEW_GONE ? IS_WAVE : ""}Compare: kit reconcile. Then: kit resources erase UUID, or kit reconcile --fix gone_at_platform.`,
    command: "kit reconcile --fix gone_at_platform",
    buttons: ["/ledgers/fix-gone_at_platform"],
    page: LEDGERS,
    causes: ["database_restored", "restore_suspected"],
    runbook: "AddonGoneAtPlatform",
    alerts: ["AddonGoneAtPlatform"],
    alarms: ["gone_at_platform"],
  }),
  plan_differs: fact<Noticed>({
    title: "Customers pay for another plan than they have",
    urgency: "urgent",
    says: ({ count }) =>
      `The platform has ${countedToMost(count, "resource")} on another plan than your backend was given.`,
    names: "resources",
    cure: "Compare: kit reconcile. Then: kit reconcile --fix plan_differs.",
    command: "kit reconcile --fix plan_differs",
    buttons: ["/ledgers/fix-plan_differs"],
    page: LEDGERS,
    causes: ["database_restored", "restore_suspected"],
    runbook: "AddonPlanDiffers",
    alerts: ["AddonPlanDiffers"],
  }),
  unknown_resource: fact<Noticed & { living: number }>({
    title: "The platform asked about resources that we do not have",
    urgency: { usually: "later", isUrgent: ({ living }) => living > 0 },
    says: ({ count, living }) =>
      `The platform asked about ${countedToMost(count, "resource")} never provisioned here; it has not ended ${living} of them, so a customer may pay.`,
    names: "uuids",
    cure: ({ living }) =>
      living > 0
        ? "Take over what lives: kit resources import, then kit grants recover. Drop a uuid from this list: kit resources erase UUID"
        : "If your backend has one of them, take it down there: kit reconcile. They leave this list a week later.",
    command: "kit resources import",
    page: LEDGERS,
    causes: ["database_restored", "restore_suspected"],
    runbook: "AddonUnknownResource",
    alerts: ["AddonUnknownResource"],
    alarms: ["unknown_resource"],
  }),
  ledgers_differ: fact<{ words: string }>({
    title: "The ledgers differ",
    urgency: "later",
    says: asItIs,
    names: "the kinds of differences",
    cure: "Deal with them, kind by kind: kit reconcile names the cures, as does the page /operator/ledgers",
    command: "kit reconcile",
    page: LEDGERS,
    causes: ["database_restored", "restore_suspected"],
    runbook: "The ledgers differ",
    noAlert: "it is left from a comparison that an operator made",
  }),
  sales_lost: fact<{ words: string }>({
    title: "Sales were lost",
    urgency: "later",
    says: asItIs,
    names: "the sales",
    cure: `${TO_DO} Then tick them off: kit lost, or "Tick off lost sales" of the operator's pages`,
    command: "kit lost",
    buttons: ["/lost"],
    runbook: "Lost sales",
    alerts: ["AddonProvisionsFail"],
    alarms: ["provision_lost"],
  }),
};
