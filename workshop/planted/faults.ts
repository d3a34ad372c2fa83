/** One fault in a copy of the Python example. */
export interface Planted {
  /** The one rule that breaks. */
  rule: string;
  what: string;
  /** Texts that occur once in the example, each with what takes its place. */
  changes: readonly (readonly [text: string, by: string])[];
}

const fault = (rule: string, what: string, ...changes: Planted["changes"]): Planted => ({
  rule,
  what,
  changes,
});

/** Puts lines before a text of the example. */
const before = (text: string, lines: string) => [text, `${lines}\n${text}`] as const;
/** Puts lines behind one. */
const after = (text: string, lines: string) => [text, `${text}\n${lines}`] as const;

// Places in the example.
const COMPARED = `hmac.compare_digest(base64.b64decode(given, validate=True), RIGHT)`;
const ASKED = `        if not self.is_platform():`;
const SERVED = `        self.answer(*self.serve(path[len("/resources/"):].lower(), raw))`;
const SENT = `        self.send_response(status)`;
const TOO_LARGE = `        if raw is None:\n            return refusal(413`;
const OBJECT = `            if not isinstance(body, dict) or`;
const PROVISION = `    uuid, later = uuid.lower(), plan == "slow"`;
const INSERTED = `    sql("""INSERT INTO resource (uuid, plan, status`;
const STORED = `    stored = sql("SELECT * FROM resource WHERE uuid = ?", uuid)[0]`;
const ANSWERED = `(stored["status"], stored["answer"])`;
const READY = `else {"id": uuid, "message": "Ready.", "config": config(uuid, plan)}`;
const VARS = `    return {"EXAMPLE_URL": f"https://{plan}.example.com/{uuid}", "EXAMPLE_KEY": uuid.replace("-", "")}`;
const CHANGED = `    return 200, json.dumps({"config": config(resource["uuid"], body["plan"])`;
const CHANGING = `    if not is_sold(body.get("plan")):`;
const ENDING = `    sql("UPDATE resource SET gone = 1, code = NULL, access = NULL, refresh = NULL, due = NULL WHERE uuid = ?", resource["uuid"])`;
const FOUND = `        if not found:`;
const FORM = `    form = urllib.parse.urlencode({**form, "client_secret": ENV["CLIENT_SECRET"]}).encode()`;
const CALLED = `call("POST", ENV["PLATFORM_AUTH_URL"] + "/oauth/token", form, {})`;
const PAIR = `    return answer if isinstance(answer.get("access_token"), str) else None, wait`;
const LATE = `        late = row["code"] and time.time() > row["code_until"]`;
const REFRESH = `tokens({"grant_type": "refresh_token", "refresh_token": row["refresh"]})`;
const BEARER = `    headers["Authorization"] = "Bearer " + row["access"]`;
const PAIRS = `json.dumps({"config": pairs}).encode()`;
const STATUS = `        if status == 401:`;
const FRESH = `        fresh = stamp.isdigit() and -300 < int(stamp) - now < 60 and user_token not in seen`;
const SIGNED = `    right = hmac.compare_digest(scoped.encode(), user_token.encode()) and hmac.compare_digest(plain.encode(), token.encode())`;
const KNOWN = `sql("SELECT 1 FROM resource WHERE uuid = ? AND NOT gone", uuid)):`;

const authentication = [
  fault("AUTH-01", "who sends no credentials is let in", [
    `        try:\n            return scheme`,
    `        if not scheme:\n            return True\n        try:\n            return scheme`,
  ]),
  fault("AUTH-02", "only the user is compared", [
    COMPARED,
    `base64.b64decode(given, validate=True).split(b":")[0] == RIGHT.split(b":")[0]`,
  ]),
  fault("AUTH-02", "any password of a word or more is right", [
    COMPARED,
    `base64.b64decode(given, validate=True).startswith(RIGHT.split(b":")[0] + b":")`,
  ]),
  fault("AUTH-03", "only the password is compared", [
    COMPARED,
    `base64.b64decode(given, validate=True).split(b":", 1)[1:] == RIGHT.split(b":", 1)[1:]`,
  ]),
  fault("AUTH-04", "blanks around the password are dropped", [
    COMPARED,
    `base64.b64decode(given, validate=True).strip() == RIGHT`,
  ]),
  fault("AUTH-04", "credentials are compared in any case", [
    COMPARED,
    `base64.b64decode(given, validate=True).lower() == RIGHT.lower()`,
  ]),
  fault(
    "AUTH-05",
    "credentials that cannot be read are a 500",
    [`            return False\n\n    def handle_call`, `            return None\n\n    def handle_call`],
    before(
      ASKED,
      `        if self.is_platform() is None:\n            return self.answer(*refusal(500, "Oops."))`,
    ),
  ),
  fault("AUTH-06", "only a provision asks for credentials", [
    ASKED,
    `        if self.command == "POST" and not self.is_platform():`,
  ]),
  fault(
    "AUTH-07",
    "a resource is looked up before the credentials",
    before(
      ASKED,
      `        if self.command in ("PUT", "DELETE") and not sql("SELECT 1 FROM resource WHERE uuid = ?", path[len("/resources/"):].lower()):
            return self.answer(*refusal(404, "There is no such resource."))`,
    ),
  ),
  fault(
    "AUTH-08",
    "a body is parsed before the credentials",
    before(
      ASKED,
      `        try:
            json.loads(raw or b"{}")
        except ValueError:
            return self.answer(*refusal(400, "That is no JSON."))`,
    ),
  ),
  fault(
    "AUTH-09",
    "the work is done before the credentials are checked",
    before(ASKED, `        done = self.serve(path[len("/resources/"):].lower(), raw)`),
    [SERVED, `        self.answer(*done)`],
  ),
  fault("AUTH-10", "a 401 says nothing of Basic", [`{"WWW-Authenticate": 'Basic realm="partner"'}`, `{}`]),
  fault("AUTH-11", "basic in small letters is another scheme", [
    `scheme.lower() == "basic"`,
    `scheme == "Basic"`,
  ]),
];

const provision = [
  fault("PROV-01", "201 in place of 200", [
    `202 if later else 200, json.dumps`,
    `202 if later else 201, json.dumps`,
  ]),
  fault("PROV-01", "every provision is refused", before(PROVISION, `    return refusal(503, "Not today.")`)),
  fault("PROV-02", "JSON is called text/html", [
    `headers={}, kind="application/json"`,
    `headers={}, kind="text/html"`,
  ]),
  fault("PROV-02", "a success is a page", [
    ANSWERED,
    `(stored["status"], "<p>Welcome.</p>" if stored["status"] == 200 else stored["answer"])`,
  ]),
  fault("PROV-03", "there is no id", [READY, `else {"message": "Ready.", "config": config(uuid, plan)}`]),
  fault("PROV-03", "all resources have one id", [
    READY,
    `else {"id": "1", "message": "Ready.", "config": config(uuid, plan)}`,
  ]),
  fault("PROV-04", "a config var is a number", [VARS, VARS.replace(`uuid.replace("-", "")`, `7`)]),
  fault("PROV-05", "a config var has a blank in its name", [
    VARS,
    VARS.replace("EXAMPLE_KEY", "EXAMPLE KEY"),
  ]),
  fault("PROV-06", "a config var is not declared", [VARS, VARS.replace("EXAMPLE_KEY", "EXAMPLE_OTHER")]),
  fault("PROV-07", "message is a list", [`"message": "Ready."`, `"message": ["Ready."]`]),
  fault("PROV-08", "a provision takes 4 seconds", before(PROVISION, `    time.sleep(4)`)),
  fault("PROV-09", "every plan can be bought", [
    `    if not is_sold(plan):`,
    `    if not isinstance(plan, str):`,
  ]),
  fault("PLAN-04", "every plan is sold", [
    `isinstance(plan, str) and plan in PLANS`,
    `isinstance(plan, str)`,
  ]),
  fault(
    "PROV-10",
    "a uuid in capitals is another one",
    [PROVISION, `    uuid, later = uuid, plan == "slow"`],
    [`UUID.fullmatch(uuid) else []`, `UUID.fullmatch(uuid.lower()) else []`],
    [`self.serve(path[len("/resources/"):].lower(), raw)`, `self.serve(path[len("/resources/"):], raw)`],
  ),
];

const requests = [
  fault(
    "REQ-01",
    "unknown members are refused",
    before(
      PROVISION,
      `    if "from_tomorrow" in body or "version" in body:
        return refusal(422, "What is that?")`,
    ),
  ),
  fault(
    "REQ-02",
    "unknown options are refused",
    before(
      PROVISION,
      `    if set(body.get("options") or {}) - {"size", "note", "name"}:
        return refusal(422, "What is that?")`,
    ),
  ),
  fault(
    "REQ-03",
    "a region is required",
    before(
      PROVISION,
      `    if "region" not in body:
        return refusal(422, "Where?")`,
    ),
  ),
  fault(
    "REQ-04",
    "a grant is required",
    before(
      PROVISION,
      `    if not grant:
        return refusal(422, "Where is the grant?")`,
    ),
  ),
  fault(
    "REQ-05",
    "the end of a grant is read with a colon only",
    before(
      PROVISION,
      `    if re.search("-0800$", str(grant.get("expires_at", ""))):
        return refusal(422, "When?")`,
    ),
  ),
  fault(
    "REQ-05",
    "the end of a grant in another zone is not converted",
    [`time.time() + 300, not later`, `time.time() + (0 if "-0800" in str(grant) else 300), not later`],
    [
      `    if row["code"]:\n`,
      `    if row["code"] and time.time() > row["code_until"]:\n        sql("UPDATE resource SET code = NULL, due = NULL WHERE uuid = ?", row["uuid"])\n        return\n    if row["code"]:\n`,
    ],
  ),
  fault(
    "REQ-06",
    "an end of a grant that cannot be read is refused",
    before(
      PROVISION,
      `    if grant and not re.match("[0-9]{4}-", str(grant.get("expires_at", ""))):
        return refusal(422, "When?")`,
    ),
  ),
  fault(
    "REQ-07",
    "another Accept is a 406",
    before(
      TOO_LARGE,
      `        if "version=3" not in self.headers.get("Accept", ""):
            return refusal(406, "Which version?")`,
    ),
  ),
  fault(
    "REQ-08",
    "another type of JSON is a 415",
    before(
      TOO_LARGE,
      `        if raw and self.headers.get("Content-Type") != "application/json":
            return refusal(415, "What is that?")`,
    ),
  ),
  fault("REQ-09", "a body is read as ASCII", [
    `body = json.loads(raw)`,
    `body = json.loads(raw.decode("ascii"))`,
  ]),
  fault("REQ-10", "a body may have 8 kB", [`LARGEST_BODY = 256 * 1024`, `LARGEST_BODY = 8 * 1024`]),
  fault(
    "REQ-11",
    "broken JSON is a 500",
    before(
      OBJECT,
      `            if body is None:
                return refusal(500, "Oops.")`,
    ),
  ),
  fault(
    "REQ-11",
    "what is no object hangs up",
    before(
      OBJECT,
      `            if not isinstance(body, dict):
                raise ValueError(body)`,
    ),
  ),
  fault("REQ-12", "a missing uuid is made", [
    `    if not isinstance(uuid, str) or not UUID`,
    `    uuid = uuid or "00000000-0000-4000-8000-" + secrets.token_hex(6)\n    if not isinstance(uuid, str) or not UUID`,
  ]),
  fault("REQ-13", "anything is a uuid", [
    `    if not isinstance(uuid, str) or not UUID.fullmatch(uuid.lower()):`,
    `    if not isinstance(uuid, str):`,
  ]),
  fault(
    "REQ-14",
    "NUL is a 500",
    before(
      OBJECT,
      `            if body and "\\\\u0000" in json.dumps(body):
                return refusal(500, "Oops.")`,
    ),
  ),
  fault("REQ-15", "a body has no limit", [`LARGEST_BODY = 256 * 1024`, `LARGEST_BODY = 256 * 1024 ** 2`]),
];

const idempotence = [
  fault(
    "IDEM-01",
    "a provision that comes again is a conflict",
    before(
      INSERTED,
      `    if sql("SELECT 1 FROM resource WHERE uuid = ? AND NOT gone", uuid):
        return refusal(409, "It is there.")`,
    ),
  ),
  fault("IDEM-02", "each answer has a time of its own", [
    ANSWERED,
    `(stored["status"], stored["answer"][:-1] + ', "at": %r}' % time.time())`,
  ]),
  fault(
    "IDEM-03",
    "another plan is a conflict",
    before(
      INSERTED,
      `    if sql("SELECT 1 FROM resource WHERE uuid = ? AND plan <> ? AND NOT gone", uuid, plan):
        return refusal(409, "It has another plan.")`,
    ),
  ),
  fault(
    "IDEM-04",
    "who looks and then inserts is overtaken",
    before(
      INSERTED,
      `    if not sql("SELECT 1 FROM resource WHERE uuid = ?", uuid):
        time.sleep(0.02)
        if sql("SELECT 1 FROM resource WHERE uuid = ?", uuid):
            return refusal(500, "UNIQUE constraint failed.")`,
    ),
  ),
  fault(
    "IDEM-05",
    "a provision that comes again is exchanged again",
    after(
      STORED,
      `    if stored["access"]:
        sql("UPDATE resource SET code = ?, due = ? WHERE uuid = ?", code, time.time() + 0.2, uuid)`,
    ),
  ),
  fault(
    "IDEM-06",
    "a provision that comes again stops the exchange",
    after(
      STORED,
      `    if uuid in given and not stored["access"]:
        sql("UPDATE resource SET code = NULL WHERE uuid = ?", uuid)
    given.add(uuid)`,
    ),
    [`lock = threading.RLock()`, `lock, given = threading.RLock(), set()`],
  ),
  fault(
    "IDEM-07",
    "a new code is a conflict",
    after(
      STORED,
      `    if stored["access"] and code not in given.setdefault(uuid, [code]):
        return refusal(409, "Another code.")
    given.setdefault(uuid, []).append(code)`,
    ),
    [`lock = threading.RLock()`, `lock, given = threading.RLock(), {}`],
  ),
];

const exchange = [
  fault("EXCH-01", "no code is exchanged", [`    if row["code"]:\n`, `    if False:\n`]),
  fault(
    "EXCH-02",
    "a code is exchanged before the answer",
    before(
      STORED,
      `    for row in sql("SELECT * FROM resource WHERE uuid = ? AND access IS NULL AND NOT gone AND code IS NOT NULL", uuid):
        work(row)`,
    ),
    [`not later, time.time() + 0.2)`, `not later, time.time() + 60)`],
  ),
  fault(
    "EXCH-03",
    "a code is sent again after it was exchanged",
    before(
      `    if new:`,
      `    if new and row["code"]:
        tokens({"grant_type": "authorization_code", "code": row["code"]})`,
    ),
  ),
  fault(
    "EXCH-04",
    "the code of a refused provision is sent",
    before(
      `    if not is_sold(plan):`,
      `    if isinstance(plan, str) and plan not in PLANS and grant:
        threading.Timer(0.1, tokens, ({"grant_type": "authorization_code", "code": grant["code"]},)).start()`,
    ),
  ),
  fault(
    "EXCH-05",
    "JSON in place of a form",
    [FORM, `    form = json.dumps({**form, "client_secret": ENV["CLIENT_SECRET"]}).encode()`],
    [CALLED, CALLED.replace("{}", `{"Content-Type": "application/json"}`)],
  ),
  fault("EXCH-06", "another grant_type", [`"grant_type": "authorization_code"`, `"grant_type": "code"`]),
  fault("EXCH-06", "grant_type is missing", [
    `tokens({"grant_type": "authorization_code", "code"`,
    `tokens({"code"`,
  ]),
  fault(
    "EXCH-07",
    "the client secret is in a header alone",
    [FORM, `    form = urllib.parse.urlencode(form).encode()`],
    [
      CALLED,
      CALLED.replace(
        "{}",
        `{"Authorization": "Basic " + base64.b64encode((":" + ENV["CLIENT_SECRET"]).encode()).decode()}`,
      ),
    ],
  ),
  fault("EXCH-08", "the form is not encoded", [
    FORM,
    `    form = "&".join(f"{name}={value}" for name, value in {**form, "client_secret": ENV["CLIENT_SECRET"]}.items()).encode()`,
  ]),
  fault("EXCH-09", "the form is in the address", [
    CALLED,
    CALLED.replace(`"/oauth/token"`, `"/oauth/token?" + form.decode()`),
  ]),
  fault("EXCH-10", "the client secret is in a header too", [
    CALLED,
    CALLED.replace("{}", `{"X-Client-Secret": ENV["CLIENT_SECRET"]}`),
  ]),
  fault(
    "EXCH-11",
    "a 400 of the token endpoint is the end",
    [LATE, `        late = row["code"] and (time.time() > row["code_until"] or wait == 400)`],
    [
      PAIR,
      `    return answer if isinstance(answer.get("access_token"), str) else None, 400 if status == 400 else wait`,
    ],
  ),
  fault("EXCH-12", "more members than expected are a fault", [
    PAIR,
    PAIR.replace("str) else", `str) and "session_nonce" not in answer else`),
  ]),
];

const refreshed = [
  fault("TOK-01", "a token is refreshed after its end", [`28800) / 2 if`, `28800) * 1.2 if`]),
  fault("TOK-01", "no token is refreshed", [`28800) / 2 if`, `28800) * 100 if`]),
  fault("TOK-02", "a refresh has no client secret", [
    FORM,
    `    form = urllib.parse.urlencode({**form, **({"client_secret": ENV["CLIENT_SECRET"]} if "code" in form else {})}).encode()`,
  ]),
  fault("TOK-03", "the access token is sent for the refresh token", [
    REFRESH,
    REFRESH.replace(`row["refresh"]`, `row["access"] or row["refresh"]`),
  ]),
  fault("TOK-03", "a refresh token is cut to 32 characters", [
    REFRESH,
    REFRESH.replace(`row["refresh"]`, `row["refresh"][:32]`),
  ]),
  fault("TOK-04", "a token is refreshed every half second", [
    `28800) / 2 if`,
    `28800) / (2 if row["code"] else 16) if`,
  ]),
  fault("TOK-05", "the first refresh token is kept", [`coalesce(?, refresh)`, `coalesce(refresh, ?)`]),
  fault("TOK-06", "no refresh token takes the old one's place", [`coalesce(?, refresh)`, `?`]),
  fault("TOK-07", "two workers refresh at once", [
    `        new, wait = ${REFRESH}`,
    `        twice = threading.Thread(target=tokens, args=({"grant_type": "refresh_token", "refresh_token": row["refresh"]},))
        twice.start()
        new, wait = ${REFRESH}
        twice.join()`,
  ]),
  fault("TOK-08", "a refresh that fails is the last one", [
    `None if late else time.time() + pause`,
    `None if late or not row["code"] and row["finished"] else time.time() + pause`,
  ]),
  fault("TOK-09", "one customer's refresh token is sent for another", [
    REFRESH,
    REFRESH.replace(
      `row["refresh"]`,
      `sql("SELECT refresh FROM resource WHERE refresh IS NOT NULL ORDER BY rowid DESC LIMIT 1")[0][0]`,
    ),
  ]),
];

const failures = [
  fault("FAIL-01", "an exchange is tried twice", [LATE, `        late = row["code"] and row["tries"] >= 1`]),
  fault(
    "FAIL-02",
    "a connection that is cut is the end",
    [`    except OSError:\n        return 0, b"", 0`, `    except OSError:\n        return 0, b"", -1`],
    [LATE, `        late = row["code"] and wait < 0`],
  ),
  fault("FAIL-03", "Retry-After is not read", [`int(error.headers.get("Retry-After") or 0)`, `0`]),
  fault("FAIL-04", "a time-out burns the code", [`timeout=30)`, `timeout=2)`]),
  fault("FAIL-05", "a page is taken for tokens", [
    `answer = json.loads(body) if 200 <= status < 300 else {}`,
    `answer = {"access_token": "none"} if body.startswith(b"<") else json.loads(body) if 200 <= status < 300 else {}`,
  ]),
  fault("FAIL-06", "a redirect is followed, with the secret", [
    `        return None  # A redirect would carry the client secret elsewhere.`,
    `        request, _, code, _, _, location = _
        return urllib.request.Request(location, request.data, request.headers, method=request.get_method())`,
  ]),
  fault(
    "FAIL-07",
    "while an exchange fails, provisions are refused",
    before(
      PROVISION,
      `    if sql("SELECT 1 FROM resource WHERE tries > 1 AND code IS NOT NULL"):
        return refusal(503, "The platform is ill.")`,
    ),
  ),
  fault("FAIL-08", "a failing exchange is called in a storm", [`min(0.2 * 2 ** row["tries"], 10)`, `0`]),
];

const changes = [
  fault("PLAN-01", "no plan is changed", before(CHANGING, `    return refusal(422, "Never.")`)),
  fault("PLAN-02", "a changed config is a list", [
    CHANGED,
    CHANGED.replace(`config(resource["uuid"], body["plan"])`, `list(config(resource["uuid"], body["plan"]))`),
  ]),
  fault(
    "PLAN-03",
    "the plan it has is a conflict",
    before(
      CHANGED,
      `    if resource["plan"] == body["plan"]:
        return refusal(409, "It has that plan.")`,
    ),
  ),
  fault("PLAN-04", "any plan can be changed to", [CHANGING, `    if not isinstance(body.get("plan"), str):`]),
  fault(
    "PLAN-05",
    "a change of an unknown resource is a 200",
    before(
      FOUND,
      `        if not found and act is change_plan:
            return 200, "{}"`,
    ),
  ),
  fault(
    "DEPR-02",
    "an unknown resource is a 200",
    before(
      FOUND,
      `        if not found:
            return 200, "{}"`,
    ),
  ),
  fault(
    "PLAN-06",
    "without a plan nothing is changed, and all is well",
    before(
      CHANGING,
      `    if "plan" not in body:
        return 200, "{}"`,
    ),
  ),
  fault(
    "PLAN-07",
    "unknown members of a change are refused",
    before(
      CHANGING,
      `    if set(body) - {"plan"}:
        return refusal(422, "What is that?")`,
    ),
  ),
  fault(
    "PLAN-08",
    "nothing changes without tokens",
    before(
      CHANGING,
      `    if not resource["access"]:
        return refusal(409, "Not yet.")`,
    ),
  ),
  fault(
    "PLAN-09",
    "after a change a provision is a conflict",
    before(
      INSERTED,
      `    if sql("SELECT 1 FROM resource WHERE uuid = ? AND NOT gone AND tries = -1", uuid):
        return refusal(409, "It was changed.")`,
    ),
    before(
      CHANGED,
      `    if resource["plan"] != body["plan"]:
        sql("UPDATE resource SET tries = -1 WHERE uuid = ?", resource["uuid"])`,
    ),
  ),
  fault("PLAN-10", "a change loses a config var", [
    CHANGED,
    CHANGED.replace(`config(resource["uuid"], body["plan"])`, `{"EXAMPLE_URL": "https://example.com"}`),
  ]),
];

const ends = [
  fault("DEPR-01", "a deprovision is a 200", [`    return 204, None`, `    return 200, "{}"`]),
  fault(
    "DEPR-02",
    "an unknown resource was deprovisioned",
    before(
      FOUND,
      `        if not found and act is deprovision and UUID.fullmatch(uuid):
            return 204, None`,
    ),
  ),
  fault(
    "DEPR-03",
    "what is no uuid is a 400",
    before(
      FOUND,
      `        if not UUID.fullmatch(uuid):
            return refusal(400, "That is no uuid.")`,
    ),
  ),
  fault(
    "DEPR-04",
    "nothing goes before its exchange",
    before(
      ENDING,
      `    if resource["code"] and resource["plan"] != "slow":
        return refusal(409, "Not yet.")`,
    ),
  ),
  fault(
    "DEPR-05",
    "a code is sent after the deprovision",
    [ENDING, `    sql("UPDATE resource SET gone = 1 WHERE uuid = ?", resource["uuid"])`],
    [`WHERE due < ? AND NOT gone LIMIT`, `WHERE due < ? AND (code IS NOT NULL OR NOT gone) LIMIT`],
    [`AND due < ? AND NOT gone", uuid`, `AND due < ?", uuid`],
    [
      `time.time() + pause, row["uuid"])`,
      `time.time() + pause, row["uuid"])
        if row["gone"]:
            sql("UPDATE resource SET due = ? WHERE uuid = ?", time.time() + 0.3, row["uuid"])`,
    ],
  ),
  fault(
    "DEPR-06",
    "tokens are refreshed after the deprovision",
    [ENDING, `    sql("UPDATE resource SET gone = 1, code = NULL WHERE uuid = ?", resource["uuid"])`],
    [`WHERE due < ? AND NOT gone LIMIT`, `WHERE due < ? LIMIT`],
    [`AND due < ? AND NOT gone", uuid`, `AND due < ?", uuid`],
  ),
  fault(
    "DEPR-06",
    "who has begun to finish a provision goes on after the deprovision",
    before(
      STATUS,
      `        while status == 503:
            time.sleep(1)
            status, _, wait = call(method, addon + path, body, headers)`,
    ),
  ),
  fault(
    "DEPR-07",
    "what is not ready cannot go",
    before(
      ENDING,
      `    if not resource["finished"]:
        return refusal(409, "Not yet.")`,
    ),
  ),
  fault(
    "DEPR-08",
    "tokens that arrive late are used",
    [`               WHERE uuid = ? AND NOT gone""", new`, `               WHERE uuid = ?""", new`],
    [`WHERE due < ? AND NOT gone LIMIT`, `WHERE due < ? LIMIT`],
    [`AND due < ? AND NOT gone", uuid`, `AND due < ?", uuid`],
  ),
  fault(
    "TOMB-01",
    "what is gone can be provisioned again",
    before(INSERTED, `    sql("DELETE FROM resource WHERE uuid = ? AND gone", uuid)`),
  ),
  fault("TOMB-01", "a deprovision forgets", [
    ENDING,
    `    sql("DELETE FROM resource WHERE uuid = ?", resource["uuid"])`,
  ]),
  fault("TOMB-02", "what is gone can be changed", [
    `if found[0]["gone"] else`,
    `if found[0]["gone"] and act is deprovision else`,
  ]),
  fault("TOMB-03", "a second deprovision is a 204", [
    `if found[0]["gone"] else`,
    `if found[0]["gone"] and act is change_plan else`,
  ]),
  fault("TOMB-04", "a late provision is refused, and exchanged", [
    `    return refusal(410, "This resource was deprovisioned.") if stored`,
    `    if stored["gone"] and code:
        threading.Timer(0.1, tokens, ({"grant_type": "authorization_code", "code": code},)).start()
    return refusal(410, "This resource was deprovisioned.") if stored`,
  ]),
  fault("TOMB-05", "what is gone is a 404", [
    `return refusal(410, "This resource was deprovisioned.") if found`,
    `return refusal(404, "There is no such resource.") if found`,
  ]),
];

const later = [
  fault("ASYNC-01", "a 202 has the config", [
    `{"id": uuid, "message": "It takes a moment."}`,
    `{"id": uuid, "message": "It takes a moment.", "config": config(uuid, plan)}`,
  ]),
  fault("ASYNC-01", "a slow plan is a 200", [`202 if later else 200, json.dumps`, `200, json.dumps`]),
  fault("ASYNC-02", "a 202 has no message", [
    `{"id": uuid, "message": "It takes a moment."}`,
    `{"id": uuid}`,
  ]),
  fault("ASYNC-03", "nobody tells the end", [`, ("POST", "/actions/provision", None)]`, `]`]),
  fault("ASYNC-04", "the end is told before the config", [
    `    for method, path, body in calls:`,
    `    for method, path, body in reversed(calls):`,
  ]),
  fault("ASYNC-04", "no config is set", [
    `    for method, path, body in calls:`,
    `    for method, path, body in calls[1:]:`,
  ]),
  fault("ASYNC-05", "the config is an object", [
    PAIRS,
    `json.dumps({"config": {each["name"]: each["value"] for each in pairs}}).encode()`,
  ]),
  fault("ASYNC-06", "a later config var is not declared", [
    PAIRS,
    `json.dumps({"config": pairs + [{"name": "EXAMPLE_MORE", "value": "x"}]}).encode()`,
  ]),
  fault("ASYNC-07", "version 2 is asked for", [`+json; version=3"`, `+json; version=2"`]),
  fault("ASYNC-07", "any answer will do", [`{"Accept": "application/vnd.svc+json; version=3", `, `{`]),
  fault("ASYNC-08", "another resource's token is sent", [
    BEARER,
    `    headers["Authorization"] = "Bearer " + sql("SELECT access FROM resource WHERE access IS NOT NULL ORDER BY rowid LIMIT 1")[0][0]`,
  ]),
  fault("ASYNC-08", "another resource's address is called", [
    `/addons/{row['uuid']}"`,
    `/addons/{sql('SELECT uuid FROM resource WHERE access IS NOT NULL AND NOT finished ORDER BY rowid DESC LIMIT 1')[0][0]}"`,
  ]),
  fault(
    "ASYNC-09",
    "a provision that comes again is said to be done",
    [
      ANSWERED,
      `(stored["status"], stored["answer"].replace("It takes", "It still takes") if uuid in given else given.add(uuid) or stored["answer"])`,
    ],
    [`lock = threading.RLock()`, `lock, given = threading.RLock(), set()`],
  ),
  fault(
    "ASYNC-10",
    "a 503 of the API is the end",
    before(
      STATUS,
      `        if status == 503:
            sql("UPDATE resource SET due = NULL, code = NULL, refresh = NULL, finished = 1 WHERE uuid = ?", row["uuid"])
            return None`,
    ),
  ),
  fault(
    "ASYNC-11",
    "a 429 of the API is the end",
    before(
      STATUS,
      `        if status == 429:
            sql("UPDATE resource SET due = NULL, code = NULL, refresh = NULL, finished = 1 WHERE uuid = ?", row["uuid"])
            return None`,
    ),
  ),
  fault("ASYNC-12", "a 401 of the API is tried again with the same token", [
    `access = NULL WHERE uuid = ?", row["uuid"])  # The`,
    `tries = 0 WHERE uuid = ?", row["uuid"])  # The`,
  ]),
  fault("ASYNC-13", "a token needs its prefix", [
    PAIR,
    PAIR.replace("str) else", `str) and answer["access_token"].startswith("SVCK-") else`),
  ]),
  fault("ASYNC-13", "a token is cut to 65 characters", [
    BEARER,
    `    headers["Authorization"] = "Bearer " + row["access"][:65]`,
  ]),
  fault(
    "ASYNC-14",
    "the end is told twice",
    [
      `, ("POST", "/actions/provision", None)]`,
      `, ("POST", "/actions/provision", None), ("POST", "/actions/provision", None)]`,
    ],
    [
      `        if not 200 <= status < 300:\n            return wait`,
      `        if not 200 <= status < 300 and status not in (404, 409, 422):\n            return wait`,
    ],
  ),
  fault("ASYNC-15", "Retry-After of the API is not read", [
    `        if status == 401:`,
    `        wait = 0\n        if status == 401:`,
  ]),
  fault("ASYNC-16", "the API is called ten times a second", [
    `        pause = max(wait, min(0.2 * 2 ** row["tries"], 10))`,
    `        pause = max(wait, 0.1 if row["access"] and not row["finished"] else min(0.2 * 2 ** row["tries"], 10))`,
  ]),
];

const answers = [
  fault("ERR-01", "a refused plan has no message", [
    `    if not is_sold(plan):\n        return refusal(422, "There is no such plan.")`,
    `    if not is_sold(plan):\n        return 422, '{"error": "plan"}'`,
  ]),
  fault("ERR-02", "a 401 is a page", [
    `self.answer(*refusal(401, "Send the add-on's id and password."), challenge)`,
    `self.answer(401, "<h1>No.</h1>", challenge, "text/html")`,
  ]),
  fault("ERR-03", "a 404 shows where it was made", [
    `        if not found:\n            return refusal(404, "There is no such resource.")`,
    `        if not found:
            return refusal(404, 'Traceback (most recent call last):\\n  File "/srv/partner.py", line 7, in serve')`,
  ]),
  fault("SECR-01", "a refusal names the password that was due", [
    `"Send the add-on's id and password."`,
    `"The password is " + ENV["ADDON_PASSWORD"] + "."`,
  ]),
  fault("SECR-01", "a message has the client secret", [
    `"message": "Ready."`,
    `"message": "Ready, with " + ENV["CLIENT_SECRET"]`,
  ]),
  fault(
    "SECR-02",
    "the request is sent back with the answer",
    [
      `    answer = {"id": uuid, "message": "It`,
      `    debug = {"request": body}\n    answer = {"id": uuid, "message": "It`,
    ],
    [READY, `else {"id": uuid, "message": "Ready.", "config": config(uuid, plan), **debug}`],
  ),
  fault("SECR-02", "a refused plan's message has the request", [
    `    if not is_sold(plan):\n        return refusal(422, "There is no such plan.")`,
    `    if not is_sold(plan):\n        return refusal(422, f"There is no such plan: {body}")`,
  ]),
  fault(
    "SECR-03",
    "the client secret goes to the API",
    after(BEARER, `    headers["X-Client-Secret"] = urllib.parse.quote(ENV["CLIENT_SECRET"])`),
  ),
  fault("SECR-04", "the server names its version", [
    `"HTTP/1.1", "partner", ""`,
    `"HTTP/1.1", "Partner/3.1", ""`,
  ]),
  fault("HTTP-01", "a body in chunks is not read", [
    `        if "chunked" in self.headers.get("Transfer-Encoding", ""):`,
    `        if "chunked" in self.headers.get("Transfer-Encoding", "") and self.close_connection is None:`,
  ]),
  fault(
    "HTTP-03",
    "each answer closes its connection",
    before(
      SENT,
      `        self.close_connection = True
        headers = {**headers, "Connection": "close"}`,
    ),
  ),
  fault("HTTP-04", "a GET of a resource is a 200", [
    `        if not act or (self`,
    `        if self.command == "GET":
            return 200, "{}"
        if not act or (self`,
  ]),
  fault(
    "HTTP-05",
    "ten at a time, and no more",
    before(
      PROVISION,
      `    global under_way
    under_way += 1
    time.sleep(0.1)
    under_way -= 1
    if under_way > 8:
        return refusal(503, "Too many.")`,
    ),
    [`lock = threading.RLock()`, `lock, under_way = threading.RLock(), 0`],
  ),
  fault("HTTP-06", "a 204 promises a body", [
    `        if status != 204:`,
    `        if status == 204:
            self.send_header("Content-Length", "2")
        if status != 204:`,
  ]),
];

const signOn = [
  fault("SSO-01", "a customer gets a 200", [
    `return self.answer(303, "", {"Location"`,
    `return self.answer(200, "Welcome", {"Location"`,
  ]),
  fault("SSO-02", "no form needs a signature", [SIGNED, `    right = bool(stamp and uuid and user_token)`]),
  fault("SSO-02", "only the beginning of a token is compared", [
    SIGNED,
    `    right = scoped[:8] == user_token[:8] and plain[:8] == token[:8]`,
  ]),
  fault("SSO-03", "only the token of the resource is compared", [
    SIGNED,
    `    right = hmac.compare_digest(plain.encode(), token.encode())`,
  ]),
  fault("SSO-04", "an old form is taken", [
    FRESH,
    `        fresh = stamp.isdigit() and int(stamp) - now < 60 and user_token not in seen`,
  ]),
  fault("SSO-05", "a form of the future is taken", [
    FRESH,
    `        fresh = stamp.isdigit() and -300 < int(stamp) - now and user_token not in seen`,
  ]),
  fault("SSO-06", "a form is taken twice", [
    FRESH,
    `        fresh = stamp.isdigit() and -300 < int(stamp) - now < 60`,
  ]),
  fault("SSO-07", "the token of any resource will do", [
    SIGNED,
    `${SIGNED}
    for (each,) in sql("SELECT uuid FROM resource WHERE NOT gone"):
        other = hashlib.sha256(f"{each}:{salt}:{stamp}:{get('user_id')}:{get('email')}".encode()).hexdigest()
        right = right or other == user_token and hashlib.sha1(f"{each}:{salt}:{stamp}".encode()).hexdigest() == token`,
  ]),
  fault("SSO-08", "without tokens all are let in", [
    SIGNED,
    `${SIGNED}
    right = right or not token and not user_token`,
  ]),
  fault("SSO-09", "who is gone gets in", [KNOWN, `sql("SELECT 1 FROM resource WHERE uuid = ?", uuid)):`]),
  fault("SSO-09", "who never was gets in", [
    KNOWN,
    `not sql("SELECT 1 FROM resource WHERE uuid = ? AND gone", uuid)):`,
  ]),
  fault("SSO-10", "the cookie is within reach of scripts", [`; HttpOnly; SameSite`, `; SameSite`]),
  fault("SSO-11", "the page is open to all", [`            if mine and sql(`, `            if sql(`]),
  fault("SSO-11", "the page is not there", [`"Location": "/customer/"`, `"Location": "/nowhere/"`]),
  fault("SSO-01", "the page does not open", [
    `            if mine and sql(`,
    `            if False and sql(`,
  ]),
  fault("SSO-12", "who signed on before the deprovision sees the page after it", [
    `            if mine and sql("SELECT 1 FROM resource WHERE uuid = ? AND NOT gone", path[10:]):`,
    `            if mine:`,
  ]),
];

/** What a vendor may get wrong, each alone in a service that is right otherwise. */
export const faults: readonly Planted[] = [
  ...authentication,
  ...provision,
  ...requests,
  ...idempotence,
  ...exchange,
  ...refreshed,
  ...failures,
  ...changes,
  ...ends,
  ...later,
  ...answers,
  ...signOn,
];
