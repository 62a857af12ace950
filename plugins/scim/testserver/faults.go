package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// faults are what the service does to those who ask, as a test wishes.
type faults struct {
	Only string `json:"only"` // the path's last part that is concerned; "" all

	Status     int    `json:"status"`     // answered instead
	StatusFor  int    `json:"statusFor"`  // so many times; 0 always
	Every      int    `json:"every"`      // only every so many requests; 0 each
	RetryAfter string `json:"retryAfter"` // with it
	Echo       bool   `json:"echo"`       // repeat the Authorization in the error

	DelayMS     int    `json:"delayMs"`
	Body        string `json:"body"` // answered instead, with status 200
	ContentType string `json:"contentType"`
	Redirect    string `json:"redirect"`
	CutAt       int    `json:"cutAt"`  // bytes after which the connection is cut
	CutFor      int    `json:"cutFor"` // so many times; 0 always
	HangAfter   int    `json:"hangAfter"`

	ETags     bool `json:"etags"`
	Cursor    bool `json:"cursor"`
	OneCursor bool `json:"oneCursor"` // every page has the same next cursor
	FixedStep int  `json:"fixedStep"` // pages begin at multiples of it only

	Total       int    `json:"total"`       // what totalResults says instead
	TotalGrows  bool   `json:"totalGrows"`  // by one a request
	SamePage    bool   `json:"samePage"`    // the first one, for ever
	DropLast    bool   `json:"dropLast"`    // each page lacks its last resource
	Empty       bool   `json:"empty"`       // no resources, whatever the total
	DeleteFirst bool   `json:"deleteFirst"` // of the users, before the second page is answered; one comes in the end
	Set         string `json:"set"`         // attributes put into each resource, JSON; null takes away
}

type stats struct {
	Requests       int            `json:"requests"`
	Lists          int            `json:"lists"`
	NotModified    int            `json:"notModified"`
	Throttled      int            `json:"throttled"`
	Tokens         int            `json:"tokens"`
	Authorizations map[string]int `json:"authorizations"`
	Filters        []string       `json:"filters"`
	Methods        []string       `json:"methods"`
}

type front struct {
	scim http.Handler

	mu     sync.Mutex
	world  world
	faults faults
	failed int
	stats  stats
}

const (
	bearer       = "test-token-0123456789"
	basicUser    = "reader"
	basicSecret  = "test-password-0123456789"
	clientID     = "authz"
	clientSecret = "test-client-secret-0123456789"
	issued       = "issued-token-0123456789"
)

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch r.URL.Path {
	case "/-/faults":
		f.faults, f.failed, f.stats = faults{}, 0, stats{Authorizations: map[string]int{}}
		if err := json.NewDecoder(r.Body).Decode(&f.faults); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	case "/-/stats":
		_ = json.NewEncoder(w).Encode(f.stats)
	case "/token":
		f.token(w, r)
	default:
		f.answer(w, r)
	}
}

func (f *front) token(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != clientID || secret != clientSecret {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":%q}`, secret)
		return
	}
	f.stats.Tokens++
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, issued)
}

func (f *front) answer(w http.ResponseWriter, r *http.Request) {
	f.stats.Requests++
	f.stats.Authorizations[r.Header.Get("Authorization")]++
	if filter := r.URL.Query().Get("filter"); filter != "" {
		f.stats.Filters = append(f.stats.Filters, filter)
	}
	if r.Method != http.MethodGet {
		f.stats.Methods = append(f.stats.Methods, r.Method)
	}
	user, secret, _ := r.BasicAuth()
	switch r.Header.Get("Authorization") {
	case "Bearer " + bearer, "Bearer " + issued:
	default:
		if user != basicUser || secret != basicSecret {
			refuse(w, http.StatusUnauthorized, "who are you?")
			return
		}
	}
	name := strings.TrimPrefix(r.URL.Path, "/v2/")
	x := f.faults
	if x.Only != "" && x.Only != name {
		x = faults{}
	}
	time.Sleep(time.Duration(x.DelayMS) * time.Millisecond)
	if x.Status != 0 && (x.Every == 0 || f.stats.Requests%x.Every == 0) && (x.StatusFor == 0 || f.failed < x.StatusFor) {
		f.failed++
		f.stats.Throttled++
		if x.RetryAfter != "" {
			w.Header().Set("Retry-After", x.RetryAfter)
		}
		detail := "as the test wishes"
		if x.Echo {
			detail = r.Header.Get("Authorization")
		}
		refuse(w, x.Status, detail)
		return
	}
	if x.Redirect != "" {
		http.Redirect(w, r, x.Redirect, http.StatusFound)
		return
	}
	body := []byte(x.Body)
	if x.Body == "" {
		status := 0
		if status, body = f.ask(x, r, name); status != http.StatusOK {
			w.Header().Set("Content-Type", "application/scim+json")
			w.WriteHeader(status)
			_, _ = w.Write(body)
			return
		}
	}
	f.send(w, r, x, body)
}

func (f *front) send(w http.ResponseWriter, r *http.Request, x faults, body []byte) {
	contentType := "application/scim+json; charset=utf-8"
	if x.ContentType != "" {
		contentType = x.ContentType
	}
	w.Header().Set("Content-Type", contentType)
	if x.ETags {
		tag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(body))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			f.stats.NotModified++
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	cut := x.CutAt > 0 && (x.CutFor == 0 || f.failed < x.CutFor)
	if !cut && x.HangAfter == 0 {
		_, _ = w.Write(body)
		return
	}
	f.failed++
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body[:min(len(body), max(x.CutAt, x.HangAfter))])
	_ = http.NewResponseController(w).Flush()
	if x.HangAfter > 0 {
		f.mu.Unlock()
		<-r.Context().Done()
		f.mu.Lock()
	}
	panic(http.ErrAbortHandler)
}

// ask puts the question to the service and falsifies its answer.
func (f *front) ask(x faults, r *http.Request, name string) (int, []byte) {
	query := r.URL.Query()
	listed := name == "Users" || name == "Groups"
	start := 1
	if listed {
		f.stats.Lists++
		start = max(1, atoi(query.Get("startIndex")))
		if x.Cursor {
			start = max(1, atoi(strings.TrimPrefix(query.Get("cursor"), "at-")))
		}
		if x.FixedStep > 0 {
			start -= (start - 1) % x.FixedStep
		}
		if x.SamePage {
			start = 1
		}
		query.Set("startIndex", strconv.Itoa(start))
		if x.DeleteFirst && f.stats.Lists == 2 {
			f.world.Users = append(f.world.Users[1:], entity{ID: "late", Attributes: map[string]any{"userName": "late"}})
		}
	}
	inner := r.Clone(r.Context())
	inner.URL.RawQuery = query.Encode()
	recorder := httptest.NewRecorder()
	f.scim.ServeHTTP(recorder, inner)
	body := recorder.Body.Bytes()
	if recorder.Code != http.StatusOK {
		return recorder.Code, body
	}
	var told map[string]any
	if err := json.Unmarshal(body, &told); err != nil {
		panic(err)
	}
	if name == "ServiceProviderConfig" && f.faults.Cursor {
		told["pagination"] = map[string]any{"cursor": true, "index": false}
	}
	if listed {
		f.falsify(x, told, start)
	}
	body, err := json.Marshal(told)
	if err != nil {
		panic(err)
	}
	return http.StatusOK, body
}

func (f *front) falsify(x faults, told map[string]any, start int) {
	resources, _ := told["Resources"].([]any)
	total := int(told["totalResults"].(float64))
	if x.DropLast && len(resources) > 0 {
		resources = resources[:len(resources)-1]
	}
	if x.Empty {
		resources = nil
	}
	var set map[string]any
	if x.Set != "" {
		if err := json.Unmarshal([]byte(x.Set), &set); err != nil {
			panic(err)
		}
	}
	for _, r := range resources {
		for name, value := range set {
			if r.(map[string]any)[name] = value; value == nil {
				delete(r.(map[string]any), name)
			}
		}
	}
	told["Resources"] = resources
	if x.Cursor {
		delete(told, "startIndex")
		delete(told, "itemsPerPage")
		if next := start + len(resources); next <= total {
			told["nextCursor"] = fmt.Sprintf("at-%d", next)
		}
		if x.OneCursor {
			told["nextCursor"] = "at-1"
		}
	}
	if x.Total > 0 {
		told["totalResults"] = x.Total
	}
	if x.TotalGrows {
		told["totalResults"] = total + f.stats.Lists
	}
}

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

func refuse(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/scim+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:Error"}, "status": strconv.Itoa(status), "detail": detail})
}
