package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/corpus"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

const corpusDir = "testdata/corpus"

// corpusWorld is a world with corpusState in it, asked over the network or over
// the administration socket.
type corpusWorld struct {
	*world
	client *http.Client
	url    string // up to the operation
	host   string // of operations on the host
	bearer []string
	names  corpus.Names
}

// overNetwork and overSocket are the two surfaces.
func overNetwork(t *testing.T, o worldOptions) *corpusWorld {
	w := newWorld(t, o)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &corpusWorld{world: w, client: &http.Client{Transport: transport}, url: w.server.URL + "/v1/", bearer: []string{"Bearer " + secret}, names: corpus.Names{}}
}

func overSocket(t *testing.T, o worldOptions) *corpusWorld {
	s := newSocketOf(t, o, nil)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return &corpusWorld{world: s.world, client: s.client, url: "http://host/local/v1/docs/", host: "http://host/local/v1/_host/",
		names: corpus.Names{"local:LOGIN": "local:" + me.Username}}
}

// filled writes corpusState, past the surface that is recorded.
func (w *corpusWorld) filled() *corpusWorld {
	w.t.Helper()
	for _, step := range corpusState {
		r := httptest.NewRequest("POST", "/v1/"+step.op, strings.NewReader(w.names.Real(step.body)))
		r.Header.Set("Authorization", "Bearer "+secret)
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, r)
		got := answer{rec.Code, rec.Header(), rec.Body.String()}
		if got.status != http.StatusOK {
			w.t.Fatalf("%s %s: %d %s", step.op, step.body, got.status, got.body)
		}
		if step.names != "" {
			kind := strings.TrimRight(step.names, "0123456789")
			w.names["<"+step.names+">"] = got.decoded(w.t)[kind].(map[string]any)["id"].(string)
		}
	}
	for seq := range int64(3) {
		page, err := w.app.EventLog().Since(w.t.Context(), authz.Position{Seq: seq}, 1)
		if err != nil {
			w.t.Fatal(err)
		}
		w.names[fmt.Sprintf("<identity%d>", seq+1)] = page.UpTo.Identity
	}
	for entry, err := range w.app.ListAuditEvents(w.t.Context(), provider.AuditQuery{Cursor: &authz.AuditCursor{}, Limit: new(int64(1))}) {
		if err != nil {
			w.t.Fatal(err)
		}
		w.names["<audit1>"] = entry.ID
	}
	return w
}

// asked sends one case. What the state does not name is made up as if nothing had
// been asked before.
func (w *corpusWorld) asked(url, body string) corpus.Answer {
	w.t.Helper()
	w.ids.Store(1000)
	a := send(w.t, w.client, "POST", url, w.names.Real(body), w.bearer...)
	return corpus.Answer{Status: a.status, Header: a.header, Body: w.names.Normal(a.body)}
}

// corpusOptions is the world in which every operation works.
func corpusOptions() worldOptions {
	return worldOptions{metrics: &application.Metrics{}, catalog: corpusCatalog, hashChain: true, auditOptIn: true, socketLimit: api.DefaultBodyLimit,
		onAuthority: func(context.Context, bool) error { return nil }}
}

// recorded asks the cases of one operation, in a new world after each write that
// was done.
func recorded(t *testing.T, op *provider.Operation, path string, cases []corpus.Case, build func(t *testing.T) *corpusWorld) *corpus.Record {
	t.Helper()
	r := &corpus.Record{}
	for len(cases) > 0 {
		done := t.Run("", func(t *testing.T) {
			w := build(t)
			url := w.url + path
			if rest, ok := strings.CutPrefix(path, "_host/"); ok {
				url = w.host + rest
			}
			for len(cases) > 0 {
				a := w.asked(url, cases[0].Body)
				r.Add(cases[0], a)
				cases = cases[1:]
				if op.Kind == provider.Write && a.Status == http.StatusOK {
					return
				}
			}
		})
		if !done {
			t.FailNow()
		}
	}
	return r
}

// corpusCases are all cases of one operation.
func corpusCases(op string, good []string) []corpus.Case {
	cases := append(corpus.Good(good...), corpus.Broken()...)
	cases = append(cases, corpus.Wrong(good[0])...)
	for _, more := range corpusShapes[op] {
		cases = append(cases, corpus.Wrong(good[more])...)
	}
	return prompt(cases)
}

// prompt leaves out what asks for an event that is to come, which is waited for.
func prompt(cases []corpus.Case) []corpus.Case {
	return slices.DeleteFunc(cases, func(c corpus.Case) bool { return strings.Contains(c.Body, `"at":{"seq":10001`) })
}

// Over the socket only what differs from the network is written down.
func TestEveryOperationAnswersAsItWasRecorded(t *testing.T) {
	files := map[string]bool{}
	record := func(op *provider.Operation, good map[string][]string, names []string, run func(t *testing.T, cases []corpus.Case, files []string)) {
		if len(good[op.Op]) == 0 {
			t.Errorf("the corpus has no request of %s", op.Op)
			return
		}
		for i, name := range names {
			names[i] = filepath.Join(corpusDir, name+".txt")
			files[names[i]] = true
		}
		t.Run(op.Op, func(t *testing.T) {
			t.Parallel()
			run(t, corpusCases(op.Op, good[op.Op]), names)
		})
	}
	network := func(t *testing.T) *corpusWorld { return overNetwork(t, corpusOptions()).filled() }
	socket := func(t *testing.T) *corpusWorld { return overSocket(t, corpusOptions()).filled() }
	for _, op := range provider.Operations {
		record(op, corpusRequests, []string{"network/" + op.Op, "socket/" + op.Op}, func(t *testing.T, cases []corpus.Case, files []string) {
			over := recorded(t, op, op.Op, cases, network)
			over.Compare(t, files[0])
			recorded(t, op, op.Op, cases, socket).Beyond(over).Compare(t, files[1])
		})
	}
	for _, op := range api.LocalOperations() {
		record(op, corpusLocalRequests, []string{"socket/" + op.Op}, func(t *testing.T, cases []corpus.Case, files []string) {
			recorded(t, op, op.Op, cases, socket).Compare(t, files[0])
		})
	}
	for _, op := range api.HostOperations() {
		record(op, corpusHostRequests, []string{"host/" + op.Op}, func(t *testing.T, cases []corpus.Case, files []string) {
			recorded(t, op, "_host/"+op.Op, cases, func(t *testing.T) *corpusWorld { return overSocket(t, corpusOptions()) }).Compare(t, files[0])
		})
	}
	for _, surface := range []string{"network", "socket", "host"} {
		corpus.Complete(t, filepath.Join(corpusDir, surface), files)
	}
}

// Other applications refuse by what they lack, and after what else is wrong.
func TestOperationsThatAnApplicationLacksAnswerAsItWasRecorded(t *testing.T) {
	off := func(t *testing.T) *corpusWorld {
		return overNetwork(t, worldOptions{persist: new(false), noEvaluator: true, noStorage: true, without: []string{"imports", "scopeParents", "auditSubjects"}, scopeParents: map[string][]string{}})
	}
	for name, build := range map[string]func(t *testing.T) *corpusWorld{
		"lacking":           off,
		"without_metrics":   func(t *testing.T) *corpusWorld { return overNetwork(t, worldOptions{without: []string{"metrics"}}) },
		"without_authority": func(t *testing.T) *corpusWorld { return overNetwork(t, worldOptions{}) },
		"not_org_root":      func(t *testing.T) *corpusWorld { return overNetwork(t, worldOptions{orgRoot: new(false)}) },
		"socket_lacking": func(t *testing.T) *corpusWorld {
			return overSocket(t, worldOptions{persist: new(false), without: []string{"imports", "scopeParents", "auditSubjects"}, scopeParents: map[string][]string{}, socketLimit: api.DefaultBodyLimit})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := &corpus.Record{}
			for _, op := range provider.Operations {
				cases := append(corpus.Good(corpusRequests[op.Op]...), corpus.Shallow(corpusRequests[op.Op][0])...)
				if !strings.Contains(name, "lacking") { // there the first event is to come
					cases = slices.DeleteFunc(cases, func(c corpus.Case) bool { return strings.Contains(c.Body, `"at":{`) })
				}
				for i := range cases {
					cases[i].Name = op.Op + ": " + cases[i].Name
				}
				all.Append(recorded(t, op, op.Op, cases, build))
			}
			all.Compare(t, filepath.Join(corpusDir, "worlds", name+".txt"))
		})
	}
}

func TestAliasesAnswerAsWhatTheyStandFor(t *testing.T) {
	for alias, name := range api.Aliases() {
		t.Run(alias, func(t *testing.T) {
			t.Parallel()
			op, ok := provider.LookupOperation(name)
			if !ok {
				t.Fatalf("%s is no operation", name)
			}
			cases := append(corpus.Good(corpusRequests[name]...), append(corpus.Broken(), corpus.Shallow(corpusRequests[name][0])...)...)
			for _, build := range []func(*testing.T, worldOptions) *corpusWorld{overNetwork, overSocket} {
				filled := func(t *testing.T) *corpusWorld { return build(t, corpusOptions()).filled() }
				for _, differs := range recorded(t, op, alias, cases, filled).Differing(recorded(t, op, name, cases, filled)) {
					t.Errorf("not as %s:\n%s", name, differs)
				}
			}
		})
	}
}

// A check is answered alike however it is spelt.
func TestSpellingsOfACheckAreAnsweredAlike(t *testing.T) {
	w := overNetwork(t, corpusOptions()).filled()
	other := overSocket(t, corpusOptions()).filled()
	decisions := 0
	for _, who := range []string{`"userId":"u"`, `"serviceId":"s"`, `"userId":"gone"`, `"userId":"w"`, `"userId":"nobody"`, `"userId":""`} {
		for _, what := range []string{`docs.files.read`, `docs.files.delete`, `docs.pay.approve`, `docs.files.raed`} {
			for _, where := range []string{`docs.doc:1`, `docs.doc:2`, `docs.doc:3`, `*`, `docs.folder:0`} {
				want := ""
				for _, spelling := range corpusSpellings {
					escaped := fmt.Sprintf(`\u%04x`, what[0]) + what[1:]
					body := strings.NewReplacer("$who", who, "$what", what, "$where", where, "$escaped", escaped).Replace(spelling)
					got := w.asked(w.url+"check", body).String()
					if want == "" {
						want = got
					}
					if got != want {
						t.Errorf("%s\nis answered %s, not %s", body, got, want)
					}
					batch := w.asked(w.url+"check", `{"checks":[`+strings.ReplaceAll(body, `,"at":null`, ``)+`]}`)
					if one := strings.TrimSuffix(strings.TrimPrefix(batch.Body, `{"results":[`), `]}`); !strings.HasSuffix(want, " "+one) {
						t.Errorf("%s\nin a batch is answered %s, not %s", body, one, want)
					}
					if local := other.asked(other.url+"check", body).String(); local != want && !strings.Contains(body, "later") {
						t.Errorf("%s\nover the socket is answered %s, not %s", body, local, want)
					}
					decisions++
				}
			}
		}
	}
	if decisions < 1000 {
		t.Errorf("%d decisions were compared", decisions)
	}
}

// What comes before an operation's parameters.
func TestRequestsAnswerAsItWasRecorded(t *testing.T) {
	w, s := overNetwork(t, corpusOptions()), overSocket(t, corpusOptions())
	r := &corpus.Record{}
	for _, c := range []struct{ method, path, bearer string }{
		{"POST", "/v1/ping", "Bearer " + secret}, {"POST", "/v1/ping", "Bearer " + oldSecret}, {"POST", "/v1/ping", "bearer " + secret}, {"POST", "/v1/ping", "Bearer  " + secret},
		{"POST", "/v1/ping", ""}, {"POST", "/v1/ping", "Bearer nonsense"}, {"POST", "/v1/ping", "Basic " + secret}, {"POST", "/v1/ping", secret},
		{"GET", "/v1/ping", "Bearer " + secret}, {"PUT", "/v1/ping", "Bearer " + secret}, {"DELETE", "/v1/nobody", ""}, {"OPTIONS", "/v1/ping", ""}, {"PATCH", "/", ""},
		{"POST", "/v1/nobody", "Bearer " + secret}, {"POST", "/v1/nobody", ""}, {"POST", "/v1/", "Bearer " + secret}, {"POST", "/v1", "Bearer " + secret}, {"POST", "/", "Bearer " + secret},
		{"POST", "/v1/Ping", "Bearer " + secret}, {"POST", "/v1/ping/", "Bearer " + secret}, {"POST", "/v1/p%69ng", "Bearer " + secret}, {"POST", "/v1/ping%2f", "Bearer " + secret},
		{"POST", "/mount/v1/ping?x=1", "Bearer " + secret}, {"POST", "/v1/ping/v1/ping", "Bearer " + secret}, {"POST", "/v1/nobody/v1/ping", "Bearer " + secret}, {"POST", "/v1/v1/ping", "Bearer " + secret},
		{"POST", "/v2/ping", "Bearer " + secret}, {"POST", "/v1/%ff", "Bearer " + secret}, {"POST", "/v1/status", "Bearer " + secret}, {"POST", "/v1/explain", "Bearer " + secret},
	} {
		var bearer []string
		if c.bearer != "" {
			bearer = []string{c.bearer}
		}
		got := send(t, w.client, c.method, w.server.URL+c.path, `{}`, bearer...)
		r.Add(corpus.Case{Name: c.method + " " + c.path + " " + c.bearer, Body: `{}`}, corpus.Answer{Status: got.status, Header: got.header, Body: got.body})
	}
	for _, c := range []struct{ method, path string }{
		{"POST", "/local/v1/docs/ping"}, {"POST", "/local/v1/my%20docs/ping"}, {"GET", "/local/v1/docs/ping"}, {"PUT", "/"}, {"POST", "/v1/ping"}, {"POST", "/local/v1/docs"},
		{"POST", "/local/v1/docs/"}, {"POST", "/local/v1//ping"}, {"POST", "/local/v1/nobody/ping"}, {"POST", "/local/v1/docs/nobody"}, {"POST", "/local/v1/docs/ping/x"},
		{"POST", "/local/v1/docs/status"}, {"POST", "/local/v1/_host/ping"}, {"POST", "/local/v1/_host/explain"}, {"POST", "/local/v1/_host/status"}, {"POST", "/local/v1/docs/p%69ng"},
		{"POST", "/local/v1/docs/org.exportSnapshot"},
	} {
		got := send(t, s.client, c.method, "http://host"+c.path, `{}`)
		r.Add(corpus.Case{Name: "socket: " + c.method + " " + c.path, Body: `{}`}, corpus.Answer{Status: got.status, Header: got.header, Body: got.body})
	}
	r.Compare(t, filepath.Join(corpusDir, "requests.txt"))
}
