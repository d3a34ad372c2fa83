// PostgreSQL's driver. While it loads, it asks `navigator` whether it runs at Cloudflare. Node 20 has no `navigator`;
// there the driver asks `Response` instead, whereupon Node loads all that belongs to `fetch`, which neither the web
// process nor a worker or a command needs: a twentieth of a start, and 4 MB. So Node 20 gets a `navigator` for that moment.
// The order of these lines matters.
import { forgetNavigator } from "./navigator.ts";
export { default } from "pg";

forgetNavigator();
