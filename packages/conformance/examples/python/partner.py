"""A complete add-on partner in Python's standard library. It keeps every rule of the conformance check.

Everything is stored in SQLite before it is answered, so it goes on after a crash. Encrypt the tokens in earnest.
"""

import base64, hashlib, hmac, json, os, re, secrets, sqlite3, threading, time
import urllib.error, urllib.parse, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ENV = os.environ
PLANS = {"basic", "premium", "slow"}  # What takes long: "slow" is answered 202 and finished later.
UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
LARGEST_BODY = 256 * 1024
RIGHT = f"{ENV['ADDON_ID']}:{ENV['ADDON_PASSWORD']}".encode()

lock = threading.RLock()
db = sqlite3.connect(ENV.get("DATABASE", ":memory:"), check_same_thread=False, isolation_level=None)
db.row_factory = sqlite3.Row
db.execute("""CREATE TABLE IF NOT EXISTS resource (uuid TEXT PRIMARY KEY, plan TEXT, status INT, answer TEXT, code TEXT,
  code_until REAL, access TEXT, refresh TEXT, finished INT, due REAL, tries INT DEFAULT 0, gone INT DEFAULT 0)""")


def sql(statement, *values):
    with lock:
        return db.execute(statement, values).fetchall()


def config(uuid, plan):
    return {"EXAMPLE_URL": f"https://{plan}.example.com/{uuid}", "EXAMPLE_KEY": uuid.replace("-", "")}


def is_sold(plan):
    return isinstance(plan, str) and plan in PLANS


# The platform asks.


def provision(body):
    uuid, plan, grant = body.get("uuid"), body.get("plan"), body.get("oauth_grant") or {}
    if not isinstance(uuid, str) or not UUID.fullmatch(uuid.lower()):
        return refusal(422, "uuid must be a UUID.")
    if not is_sold(plan):
        return refusal(422, "There is no such plan.")
    uuid, later = uuid.lower(), plan == "slow"
    answer = {"id": uuid, "message": "It takes a moment."} if later else {"id": uuid, "message": "Ready.", "config": config(uuid, plan)}
    code = grant.get("code") if isinstance(grant, dict) else None
    # The primary key decides which of two equal requests makes the resource; both get the stored answer.
    sql("""INSERT INTO resource (uuid, plan, status, answer, code, code_until, finished, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (uuid) DO NOTHING""",
        uuid, plan, 202 if later else 200, json.dumps(answer), code, time.time() + 300, not later, time.time() + 0.2)
    stored = sql("SELECT * FROM resource WHERE uuid = ?", uuid)[0]
    return refusal(410, "This resource was deprovisioned.") if stored["gone"] else (stored["status"], stored["answer"])


def change_plan(resource, body):
    if not is_sold(body.get("plan")):
        return refusal(422, "There is no such plan.")
    sql("UPDATE resource SET plan = ? WHERE uuid = ?", body["plan"], resource["uuid"])
    return 200, json.dumps({"config": config(resource["uuid"], body["plan"]), "message": f"Now {body['plan']}."})


def deprovision(resource, _body):
    sql("UPDATE resource SET gone = 1, code = NULL, access = NULL, refresh = NULL, due = NULL WHERE uuid = ?", resource["uuid"])
    return 204, None


def refusal(status, message):
    return status, json.dumps({"id": {401: "unauthorized", 404: "not_found", 410: "gone"}.get(status, "invalid"), "message": message})


# We ask the platform: after the answer, again and again, one call at a time for each resource.


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None  # A redirect would carry the client secret elsewhere.


opener = urllib.request.build_opener(NoRedirect)


def call(method, url, data, headers):
    try:
        with opener.open(urllib.request.Request(url, data, headers, method=method), timeout=30) as answer:
            return answer.status, answer.read(), 0
    except urllib.error.HTTPError as error:
        return error.code, b"", int(error.headers.get("Retry-After") or 0)
    except OSError:
        return 0, b"", 0


def tokens(form):
    form = urllib.parse.urlencode({**form, "client_secret": ENV["CLIENT_SECRET"]}).encode()
    status, body, wait = call("POST", ENV["PLATFORM_AUTH_URL"] + "/oauth/token", form, {})
    try:
        answer = json.loads(body) if 200 <= status < 300 else {}
    except ValueError:
        answer = {}
    return answer if isinstance(answer.get("access_token"), str) else None, wait


def work(row):
    if row["code"]:
        new, wait = tokens({"grant_type": "authorization_code", "code": row["code"]})
    elif row["refresh"] and (row["finished"] or not row["access"]):
        new, wait = tokens({"grant_type": "refresh_token", "refresh_token": row["refresh"]})
    elif row["access"] and not row["finished"]:
        new, wait = None, finish(row)
        if wait is None:
            return
    else:  # Without a grant, or after its five minutes, there is nothing to ask with.
        return sql("UPDATE resource SET due = NULL WHERE uuid = ?", row["uuid"])
    if new:
        due = time.time() + (min(int(new.get("expires_in") or 28800), 28800) / 2 if row["finished"] else 0)
        sql("""UPDATE resource SET code = NULL, access = ?, refresh = coalesce(?, refresh), due = ?, tries = 0
               WHERE uuid = ? AND NOT gone""", new["access_token"], new.get("refresh_token"), due, row["uuid"])
    else:
        late = row["code"] and time.time() > row["code_until"]
        pause = max(wait, min(0.2 * 2 ** row["tries"], 10))
        sql("UPDATE resource SET tries = tries + 1, code = ?, due = ? WHERE uuid = ? AND NOT gone",
            None if late else row["code"], None if late else time.time() + pause, row["uuid"])


def finish(row):
    """Sets the config vars and tells the end. Returns None if that is done, else the seconds to wait."""
    addon = f"{ENV['PLATFORM_API_URL']}/addons/{row['uuid']}"
    headers = {"Accept": "application/vnd.svc+json; version=3", "Content-Type": "application/json"}
    headers["Authorization"] = "Bearer " + row["access"]
    pairs = [{"name": name, "value": value} for name, value in config(row["uuid"], row["plan"]).items()]
    calls = [("PATCH", "/config", json.dumps({"config": pairs}).encode()), ("POST", "/actions/provision", None)]
    for method, path, body in calls:
        status, _, wait = call(method, addon + path, body, headers)
        if status == 401:
            sql("UPDATE resource SET access = NULL WHERE uuid = ?", row["uuid"])  # The next turn refreshes it.
        if not 200 <= status < 300:
            return wait
    sql("UPDATE resource SET finished = 1, tries = 0, due = ? WHERE uuid = ? AND NOT gone", time.time() + 5, row["uuid"])


def work_forever():
    busy = set()

    def one(uuid):
        try:
            # Read again: another turn may have worked since the list was read, and a code is sent once.
            for row in sql("SELECT * FROM resource WHERE uuid = ? AND due < ? AND NOT gone", uuid, time.time()):
                work(row)
        finally:
            busy.discard(uuid)

    while True:
        for (uuid,) in sql("SELECT uuid FROM resource WHERE due < ? AND NOT gone LIMIT 100", time.time()):
            if uuid not in busy:
                busy.add(uuid)
                threading.Thread(target=one, args=(uuid,), daemon=True).start()
        time.sleep(0.05)


# A customer signs on.

seen, sessions = {}, {}


def sign_on(form):
    salt, now = ENV.get("SSO_SALT", ""), time.time()
    get = lambda name: form.get(name, [""])[0]
    uuid, stamp, token, user_token = get("resource_id"), get("timestamp"), get("resource_token"), get("user_scoped_resource_token")
    plain = hashlib.sha1(f"{uuid}:{salt}:{stamp}".encode()).hexdigest()
    scoped = hashlib.sha256(f"{uuid}:{salt}:{stamp}:{get('user_id')}:{get('email')}".encode()).hexdigest()
    right = hmac.compare_digest(scoped.encode(), user_token.encode()) and hmac.compare_digest(plain.encode(), token.encode())
    with lock:
        fresh = stamp.isdigit() and -300 < int(stamp) - now < 60 and user_token not in seen
        if not (salt and right and fresh and sql("SELECT 1 FROM resource WHERE uuid = ? AND NOT gone", uuid)):
            return None
        seen[user_token] = now
        for old in [each for each, at in seen.items() if now - at > 360]:
            del seen[old]
        session = secrets.token_urlsafe(24)
        sessions[session] = uuid
        return uuid, session


class Handler(BaseHTTPRequestHandler):
    protocol_version, server_version, sys_version = "HTTP/1.1", "partner", ""

    def answer(self, status, body=None, headers={}, kind="application/json"):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if body is not None:
            self.send_header("Content-Type", kind)
        if status != 204:
            self.send_header("Content-Length", str(len((body or "").encode())))
        self.end_headers()
        self.wfile.write((body or "").encode())

    def body(self):
        """The body, of any coding; None if it is too large."""
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            whole = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                if size + len(whole) > LARGEST_BODY:
                    return None
                whole += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return whole
        length = int(self.headers.get("Content-Length") or 0)
        return self.rfile.read(length) if length <= LARGEST_BODY else None

    def is_platform(self):
        scheme, _, given = self.headers.get("Authorization", "").partition(" ")
        try:
            return scheme.lower() == "basic" and hmac.compare_digest(base64.b64decode(given, validate=True), RIGHT)
        except ValueError:
            return False

    def handle_call(self):
        path = self.path.split("?")[0]
        raw = self.body()
        if raw is None:
            self.close_connection = True
        if path == "/sso/login" and self.command == "POST":
            customer = sign_on(urllib.parse.parse_qs((raw or b"").decode("utf-8", "replace")))
            if customer is None:
                return self.answer(*refusal(403, "This sign-on is not valid."))
            cookie = f"session={customer[1]}; HttpOnly; SameSite=Lax; Path=/"
            return self.answer(303, "", {"Location": "/customer/" + customer[0], "Set-Cookie": cookie})
        if path.startswith("/customer/") and self.command == "GET":
            session = re.search(r"session=([\w-]+)", self.headers.get("Cookie", ""))
            mine = session and sessions.get(session[1]) == path[10:]
            if mine and sql("SELECT 1 FROM resource WHERE uuid = ? AND NOT gone", path[10:]):
                return self.answer(200, f"<h1>Your resource {path[10:]}</h1>", kind="text/html")
            return self.answer(*refusal(403, "Come from the platform's dashboard."))
        if not re.match("/resources(/|$)", path):
            return self.answer(*refusal(404, "There is nothing here."))
        if not self.is_platform():
            challenge = {"WWW-Authenticate": 'Basic realm="partner"'}
            return self.answer(*refusal(401, "Send the add-on's id and password."), challenge)
        self.answer(*self.serve(path[len("/resources/"):].lower(), raw))

    def serve(self, uuid, raw):
        act = {"POST": provision, "PUT": change_plan, "DELETE": deprovision}.get(self.command)
        if not act or (self.command == "POST") == bool(uuid):
            return refusal(405, "Only POST, PUT and DELETE.")
        if raw is None:
            return refusal(413, "The body is too large.")
        body = {}
        if act is not deprovision:
            try:
                body = json.loads(raw)
            except ValueError:
                body = None
            if not isinstance(body, dict) or "\\u0000" in json.dumps(body):
                return refusal(400, "The body must be a JSON object, without NUL.")
        if act is provision:
            return provision(body)
        found = sql("SELECT * FROM resource WHERE uuid = ?", uuid) if UUID.fullmatch(uuid) else []
        if not found:
            return refusal(404, "There is no such resource.")
        return refusal(410, "This resource was deprovisioned.") if found[0]["gone"] else act(found[0], body)

    do_POST = do_PUT = do_DELETE = do_GET = do_PATCH = do_HEAD = handle_call
    log_message = lambda *_: None


if __name__ == "__main__":
    ThreadingHTTPServer.request_queue_size = 128
    threading.Thread(target=work_forever, daemon=True).start()
    ThreadingHTTPServer(("127.0.0.1", int(ENV.get("PORT", "3000"))), Handler).serve_forever()
