// PostgreSQL's driver. While it loads, it asks `navigator` whether it runs at Cloudflare. Node 20 has no `navigator`;
// there the driver asks `Response` instead, whereupon Node loads all that belongs to `fetch`, which no process of the
// kit uses: a twentieth of the time a web process takes to start, and 4 MB. So Node 20 gets a `navigator` for that moment.
// The order of these lines matters.
import { forgetNavigator } from "./navigator.ts";
export { default } from "pg";

forgetNavigator();
