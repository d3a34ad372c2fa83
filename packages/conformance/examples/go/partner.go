// A complete add-on partner in Go's standard library. It keeps every rule of the conformance check.
//
// Resources are stored in the file that DATABASE names before each answer. Encrypt the tokens in earnest.
package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

type resource struct {
	UUID, Plan, Answer, Code, Access, Refresh string
	Status, Tries                             int
	CodeUntil, RefreshAt, Due                 time.Time
	Finished, Gone, busy                      bool
}
type object map[string]any

var (
	env       = os.Getenv
	plans     = map[string]bool{"basic": true, "premium": true, "slow": true} // What takes long: "slow" is answered 202.
	isUUID    = regexp.MustCompile("^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$").MatchString
	mutex     sync.Mutex // of all below
	resources = map[string]*resource{}
	sessions  = map[string]string{}    // the resource of each customer who signed on
	usedAt    = map[string]time.Time{} // tokens of sign-ons
)

func encoded(value any) string {
	text, _ := json.Marshal(value) // It cannot fail for what is encoded here.
	return string(text)
}

// save gives up rather than forget what is then answered.
func save() {
	if file := env("DATABASE"); file != "" {
		if os.WriteFile(file+".new", []byte(encoded(resources)), 0o600) != nil || os.Rename(file+".new", file) != nil {
			log.Fatal("The resources cannot be stored in " + file)
		}
	}
}

func config(uuid, plan string) map[string]string {
	return map[string]string{"EXAMPLE_URL": "https://" + plan + ".example.com/" + uuid, "EXAMPLE_KEY": uuid[:8]}
}

// The platform asks.

func refusal(status int, id, message string) (int, string) {
	return status, encoded(object{"id": id, "message": message})
}

func serve(method, uuid string, raw []byte) (int, string) {
	var body struct {
		UUID, Plan string
		Grant      struct{ Code string } `json:"oauth_grant"`
	}
	isNew := method == "POST" && uuid == ""
	if !isNew && (uuid == "" || method != "PUT" && method != "DELETE") {
		return refusal(405, "not_allowed", "Only POST, PUT and DELETE.")
	}
	if method != "DELETE" && json.Unmarshal(raw, &body) != nil {
		return refusal(400, "bad_request", "The body must be a JSON object.")
	}
	if isNew {
		uuid = strings.ToLower(body.UUID)
	}
	one := resources[uuid]
	switch {
	case isNew && !isUUID(uuid):
		return refusal(422, "invalid", "uuid must be a UUID.")
	case !isNew && one == nil:
		return refusal(404, "not_found", "There is no such resource.")
	case one != nil && one.Gone:
		return refusal(410, "gone", "This resource was deprovisioned.")
	case method == "DELETE":
		*one = resource{UUID: uuid, Gone: true}
		save()
		return 204, ""
	case isNew && one != nil: // It comes again.
		return one.Status, one.Answer
	case !plans[body.Plan]:
		return refusal(422, "invalid", "There is no such plan.")
	case !isNew:
		one.Plan = body.Plan
		save()
		return 200, encoded(object{"config": config(uuid, one.Plan), "message": "Now " + one.Plan + "."})
	}
	now := time.Now()
	one = &resource{UUID: uuid, Plan: body.Plan, Code: body.Grant.Code, CodeUntil: now.Add(5 * time.Minute), Due: now.Add(300 * time.Millisecond)}
	one.Status, one.Answer = 202, encoded(object{"id": uuid, "message": "It takes a moment."})
	if body.Plan != "slow" {
		one.Status, one.Answer = 200, encoded(object{"id": uuid, "message": "Ready.", "config": config(uuid, body.Plan)})
	}
	one.Finished = one.Status == 200
	resources[uuid] = one
	save()
	return one.Status, one.Answer
}

// We ask the platform: after the answer, again and again, one call at a time for each resource.

var client = http.Client{
	Timeout: 30 * time.Second,
	// A redirect would carry the client secret elsewhere.
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// call returns the status, 0 without an answer, and the seconds that the platform asks to wait.
func call(method, address string, headers map[string]string, body string) (status int, text []byte, wait int) {
	request, _ := http.NewRequest(method, address, strings.NewReader(body))
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, nil, 0
	}
	defer answer.Body.Close()
	if text, err = io.ReadAll(answer.Body); err != nil {
		return 0, nil, 0
	}
	wait, _ = strconv.Atoi(answer.Header.Get("Retry-After"))
	return answer.StatusCode, text, wait
}

// tokens gets a pair for a code, or another for a refresh token.
func (one *resource) tokens() (isDone bool, wait int) {
	form := url.Values{"client_secret": {env("CLIENT_SECRET")}, "grant_type": {"authorization_code"}, "code": {one.Code}}
	if one.Code == "" {
		form = url.Values{"client_secret": {env("CLIENT_SECRET")}, "grant_type": {"refresh_token"}, "refresh_token": {one.Refresh}}
	}
	kind := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	status, text, wait := call("POST", env("PLATFORM_AUTH_URL")+"/oauth/token", kind, form.Encode())
	var pair struct {
		Access  string      `json:"access_token"`
		Refresh string      `json:"refresh_token"`
		Life    json.Number `json:"expires_in"` // Seconds, perhaps as a text.
	}
	if json.Unmarshal(text, &pair) != nil || status/100 != 2 || pair.Access == "" {
		return false, wait
	}
	seconds, _ := pair.Life.Int64()
	if seconds < 1 || seconds > 28800 {
		seconds = 28800
	}
	if pair.Refresh != "" {
		one.Refresh = pair.Refresh
	}
	one.Code, one.Access, one.RefreshAt = "", pair.Access, time.Now().Add(time.Duration(seconds)*time.Second/2)
	return true, 0
}

// finish sets the config vars, and tells the end of what takes long.
func (one *resource) finish() (isDone bool, wait int) {
	addon, pairs := env("PLATFORM_API_URL")+"/addons/"+one.UUID, []object{}
	for name, value := range config(one.UUID, one.Plan) {
		pairs = append(pairs, object{"name": name, "value": value})
	}
	headers := map[string]string{"Authorization": "Bearer " + one.Access, "Accept": "application/vnd.svc+json; version=3", "Content-Type": "application/json"}
	status, _, wait := call("PATCH", addon+"/config", headers, encoded(object{"config": pairs}))
	if status/100 == 2 {
		status, _, wait = call("POST", addon+"/actions/provision", headers, "")
	}
	if status == 401 {
		one.Access = "" // The next turn refreshes it.
	}
	one.Finished = status/100 == 2
	return one.Finished, wait
}

// work takes the next step of a copy, without the mutex, and keeps what came of it if the resource is not gone.
func work(one resource) {
	isDone, wait := false, 3600
	if !one.Finished && one.Code == "" && one.Access != "" {
		isDone, wait = one.finish()
	} else if one.Code != "" || one.Refresh != "" {
		isDone, wait = one.tokens()
	}
	if isDone && one.Finished {
		one.Tries, one.Due = 0, one.RefreshAt
	} else if isDone {
		one.Tries, one.Due = 0, time.Now()
	} else {
		one.Due = time.Now().Add(time.Duration(wait)*time.Second + 200*time.Millisecond<<one.Tries)
		one.Tries = (one.Tries + 1) % 7
	}
	if time.Now().After(one.CodeUntil) {
		one.Code = ""
	}
	mutex.Lock()
	defer mutex.Unlock()
	if now := resources[one.UUID]; !now.Gone {
		one.Plan = now.Plan
		*now = one
		save()
	}
}

func workForever() {
	for ; ; time.Sleep(50 * time.Millisecond) {
		mutex.Lock()
		for _, one := range resources {
			if !one.Gone && !one.busy && time.Now().After(one.Due) {
				go work(*one)
				one.busy = true
			}
		}
		mutex.Unlock()
	}
}

// A customer signs on.

// signOn returns the cookie of a new session; an empty one is no session.
func signOn(form url.Values) (session string) {
	uuid, salt, stamp := form.Get("resource_id"), env("SSO_SALT"), form.Get("timestamp")
	given := form.Get("resource_token") + form.Get("user_scoped_resource_token")
	signed := uuid + ":" + salt + ":" + stamp
	right := fmt.Sprintf("%x%x", sha1.Sum([]byte(signed)), sha256.Sum256([]byte(signed+":"+form.Get("user_id")+":"+form.Get("email"))))
	seconds, _ := strconv.ParseInt(stamp, 10, 64)
	age, one := time.Since(time.Unix(seconds, 0)), resources[uuid]
	isRight := salt != "" && same(given, right) && age < 5*time.Minute && age > -time.Minute
	if !isRight || one == nil || one.Gone || !usedAt[given].IsZero() {
		return ""
	}
	for token, at := range usedAt {
		if time.Since(at) > 7*time.Minute {
			delete(usedAt, token)
		}
	}
	random := make([]byte, 24)
	rand.Read(random)
	session = fmt.Sprintf("%x", random)
	usedAt[given], sessions[session] = time.Now(), uuid
	return session
}

func same(one, other string) bool { return subtle.ConstantTimeCompare([]byte(one), []byte(other)) == 1 }

func answer(r *http.Request, raw []byte, tooLarge error, header http.Header) (int, string) {
	path := r.URL.Path
	if path == "/sso/login" && r.Method == "POST" {
		form, _ := url.ParseQuery(string(raw))
		session := signOn(form)
		if session == "" {
			return refusal(403, "forbidden", "This sign-on is not valid.")
		}
		header.Set("Set-Cookie", "session="+session+"; HttpOnly; SameSite=Lax; Path=/")
		header.Set("Location", "/customer/"+form.Get("resource_id"))
		return 303, ""
	}
	if cookie, _ := r.Cookie("session"); cookie != nil && path == "/customer/"+sessions[cookie.Value] {
		if one := resources[sessions[cookie.Value]]; one != nil && !one.Gone {
			header.Set("Content-Type", "text/html")
			return 200, "<h1>Your resource " + one.UUID + "</h1>"
		}
	}
	if path != "/resources" && !strings.HasPrefix(path, "/resources/") {
		return refusal(404, "not_found", "There is nothing here, or nothing without a sign-on.")
	}
	if user, password, _ := r.BasicAuth(); !same(user+":"+password, env("ADDON_ID")+":"+env("ADDON_PASSWORD")) {
		header.Set("WWW-Authenticate", `Basic realm="partner"`)
		return refusal(401, "unauthorized", "Send the add-on's id and password.")
	}
	if tooLarge != nil {
		return refusal(413, "too_large", "The body is too large.")
	}
	return serve(r.Method, strings.ToLower(strings.Trim(path[len("/resources"):], "/")), raw)
}

func main() {
	if text, err := os.ReadFile(env("DATABASE")); err == nil && json.Unmarshal(text, &resources) != nil {
		log.Fatal("DATABASE holds something else.")
	}
	go workForever()
	log.Fatal(http.ListenAndServe("127.0.0.1:"+env("PORT"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, tooLarge := io.ReadAll(http.MaxBytesReader(w, r.Body, 256<<10))
		w.Header().Set("Content-Type", "application/json")
		mutex.Lock()
		status, text := answer(r, raw, tooLarge, w.Header())
		mutex.Unlock()
		w.WriteHeader(status)
		io.Copy(w, bytes.NewReader([]byte(text)))
	})))
}
