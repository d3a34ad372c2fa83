"""A complete add-on partner with Flask, requests and waitress. It keeps every rule of the conformance check.

Everything is stored in SQLite before it is answered, so it goes on after a crash. Encrypt the tokens in earnest.
"""

import hashlib, hmac, json, os, secrets, sqlite3, threading, time
from uuid import UUID

import requests, waitress
from flask import Flask, abort, jsonify, redirect, request, session
from werkzeug.exceptions import HTTPException, Unauthorized

ENV = os.environ
PLANS = {"basic": 200, "premium": 200, "slow": 202}  # What takes long is answered 202 and finished later.

lock = threading.RLock()
db = sqlite3.connect(ENV.get("DATABASE", ":memory:"), check_same_thread=False, isolation_level=None)
db.row_factory = sqlite3.Row
db.execute("""CREATE TABLE IF NOT EXISTS resource (uuid TEXT PRIMARY KEY, plan TEXT, answer TEXT, status INT, finished INT,
  code TEXT, code_until REAL, access TEXT, refresh TEXT, due REAL, tries INT DEFAULT 0, gone INT DEFAULT 0)""")
db.execute("CREATE TABLE IF NOT EXISTS sign_on (token TEXT PRIMARY KEY, at REAL)")


def sql(statement, *values):
    with lock:
        return db.execute(statement, values).fetchall()


def config(uuid, plan):
    return {"EXAMPLE_URL": f"https://{plan}.example.com/{uuid}", "EXAMPLE_KEY": uuid.replace("-", "")}


# The platform asks.

app = Flask(__name__)
app.config["SESSION_COOKIE_SAMESITE"] = "Lax"
app.secret_key = ENV.get("SESSION_KEY") or secrets.token_bytes(32)


@app.errorhandler(HTTPException)
def in_json(error):
    word = {401: "unauthorized", 404: "not_found", 410: "gone"}.get(error.code, "invalid")
    return jsonify(id=word, message=error.description), error.code


@app.before_request
def only_the_platform():
    if request.path.startswith("/resources"):
        given = request.authorization or {}
        said = [(given.get(name) or "").encode() for name in ("username", "password")]
        right = [ENV[name].encode() for name in ("ADDON_ID", "ADDON_PASSWORD")]
        if not all([hmac.compare_digest(*pair) for pair in zip(said, right)]):
            return *in_json(Unauthorized("Send the add-on's id and password.")), {"WWW-Authenticate": 'Basic realm="partner"'}
    if (request.content_length or 0) > 256 * 1024:
        abort(413, "The body is too large.")


def asked():
    """The members of the body, with a plan that is sold."""
    body = request.get_json(force=True)
    if not isinstance(body, dict) or "\\u0000" in json.dumps(body):
        abort(400, "The body must be a JSON object, without NUL.")
    if not isinstance(body.get("plan"), str) or body["plan"] not in PLANS:
        abort(422, "There is no such plan.")
    return body


def live(uuid):
    """The resource, if it is there and not gone."""
    found = sql("SELECT * FROM resource WHERE uuid = ?", str(uuid))
    if not found:
        abort(404, "There is no such resource.")
    return abort(410, "This resource was deprovisioned.") if found[0]["gone"] else found[0]


@app.post("/resources")
def provision():
    body, now = asked(), time.time()
    plan, grant = body["plan"], body.get("oauth_grant")
    code = grant.get("code") if isinstance(grant, dict) else None
    try:
        uuid = str(UUID(body["uuid"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        abort(422, "uuid must be a UUID.")
    made = {"config": config(uuid, plan)} if PLANS[plan] == 200 else {}
    answer = json.dumps({"id": uuid, "message": "Ready." if made else "It takes a moment.", **made})
    # The primary key decides which of two equal requests makes the resource; both get the stored answer.
    sql("""INSERT INTO resource (uuid, plan, answer, status, finished, code, code_until, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (uuid) DO NOTHING""", uuid, plan, answer, PLANS[plan], bool(made), code, now + 300, now + 0.2)
    stored = live(uuid)
    return app.response_class(stored["answer"], stored["status"], mimetype="application/json")


@app.put("/resources/<uuid:uuid>")
def change_plan(uuid):
    uuid, plan = live(uuid)["uuid"], asked()["plan"]
    sql("UPDATE resource SET plan = ? WHERE uuid = ?", plan, uuid)
    return jsonify(config=config(uuid, plan), message=f"Now {plan}.")


@app.delete("/resources/<uuid:uuid>")
def deprovision(uuid):
    sql("UPDATE resource SET gone = 1, code = NULL, access = NULL, refresh = NULL, due = NULL WHERE uuid = ?", live(uuid)["uuid"])
    return "", 204


# A customer signs on.


@app.post("/sso/login")
def sign_on():
    salt, form, now = ENV.get("SSO_SALT", ""), request.form.get, time.time()
    uuid, stamp, user_token = form("resource_id", ""), form("timestamp", ""), form("user_scoped_resource_token", "")
    plain = hashlib.sha1(f"{uuid}:{salt}:{stamp}".encode()).hexdigest()
    scoped = hashlib.sha256(f"{uuid}:{salt}:{stamp}:{form('user_id')}:{form('email')}".encode()).hexdigest()
    right = hmac.compare_digest(plain.encode(), form("resource_token", "").encode())
    right = hmac.compare_digest(scoped.encode(), user_token.encode()) and right and salt
    sql("DELETE FROM sign_on WHERE at < ?", now - 360)
    if right and stamp.isdigit() and -300 < int(stamp) - now < 60 and is_live(uuid):
        if sql("INSERT INTO sign_on VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING token", user_token, now):
            session["uuid"] = uuid
            return redirect(f"/customer/{uuid}", 303)
    abort(403, "This sign-on is not valid.")


@app.get("/customer/<uuid>")
def page(uuid):
    mine = session.get("uuid") == uuid and is_live(uuid)
    return f"<h1>Your resource {uuid}</h1>" if mine else abort(403, "Come from the platform's dashboard.")


def is_live(uuid):
    return sql("SELECT 1 FROM resource WHERE uuid = ? AND NOT gone", uuid)


# We ask the platform: after the answer, again and again, one call at a time for each resource.


http = requests.Session()
http.trust_env = False  # A .netrc would replace the token.


def call(method, url, **what):
    """The status, the members of the answer, and the seconds to wait."""
    try:
        # A redirect would carry the client secret elsewhere, and an early time-out lose the tokens of a code.
        answer = http.request(method, url, allow_redirects=False, timeout=30, **what)
        members = answer.json() if answer.ok and answer.content else {}
        return answer.status_code, members if isinstance(members, dict) else {}, int(answer.headers.get("Retry-After") or 0)
    except (requests.RequestException, ValueError):
        return 0, {}, 0


def work(row):
    form, uuid, wait = None, row["uuid"], 0
    if row["code"]:
        form = {"grant_type": "authorization_code", "code": row["code"]}
    elif row["refresh"] and (row["finished"] or not row["access"]):
        form = {"grant_type": "refresh_token", "refresh_token": row["refresh"]}
    elif row["access"]:
        wait = finish(row)
        if wait is None:
            return
    else:  # Without a grant, or after its five minutes, there is nothing to ask with.
        return sql("UPDATE resource SET due = NULL WHERE uuid = ?", uuid)
    if form:
        url = ENV["PLATFORM_AUTH_URL"] + "/oauth/token"
        _, new, wait = call("POST", url, data={**form, "client_secret": ENV["CLIENT_SECRET"]})
        if isinstance(new.get("access_token"), str):
            due = time.time() + (min(int(new.get("expires_in") or 28800), 28800) / 2 if row["finished"] else 0)
            return sql("""UPDATE resource SET code = NULL, access = ?, refresh = coalesce(?, refresh), due = ?, tries = 0
                          WHERE uuid = ? AND NOT gone""", new["access_token"], new.get("refresh_token"), due, uuid)
    late = row["code"] and time.time() > row["code_until"]
    due = time.time() + max(wait, min(0.2 * 2 ** row["tries"], 10))
    sql("UPDATE resource SET tries = tries + 1, code = ?, due = ? WHERE uuid = ? AND NOT gone",
        None if late else row["code"], None if late else due, uuid)


def finish(row):
    """Sets the config vars and tells the end. Returns None if that is done, else the seconds to wait."""
    addon = f"{ENV['PLATFORM_API_URL']}/addons/{row['uuid']}"
    headers = {"Accept": "application/vnd.svc+json; version=3", "Authorization": "Bearer " + row["access"]}
    pairs = [{"name": name, "value": value} for name, value in config(row["uuid"], row["plan"]).items()]
    for method, path, body in [("PATCH", "/config", {"config": pairs}), ("POST", "/actions/provision", None)]:
        if not is_live(row["uuid"]):
            return 0
        status, _, wait = call(method, addon + path, json=body, headers=headers)
        if status == 401:
            sql("UPDATE resource SET access = NULL WHERE uuid = ?", row["uuid"])  # The next turn refreshes it.
        if not 200 <= status < 300:
            return wait
    sql("UPDATE resource SET finished = 1, tries = 0, due = ? WHERE uuid = ? AND NOT gone", time.time() + 5, row["uuid"])


def work_forever(busy=set()):
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


if __name__ == "__main__":
    threading.Thread(target=work_forever, daemon=True).start()
    waitress.serve(app, host="127.0.0.1", port=int(ENV.get("PORT", "3000")), threads=32, ident=None)
