package hosted

import (
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/internal/corpus"
	"github.com/authzhost/authz/internal/streamtest"
)

const corpusDir = "testdata/corpus"

// corpusValues are what may stand in a query, by the letter.
var corpusValues = []string{"", "0", "1", "-1", "1.0", "01", "1001", "9007199254740993", "true", "false", "text", "user:u_7", "docs.doc:1", "a,b", "a,,b", "%00", "%ff", "%e2%80%ae", "%", "a%20b", strings.Repeat("x", corpus.Long)}

// corpusPaths are what may stand in a path.
var corpusPaths = []string{"nobody", "%00", "%ff", "a%20b", "a%2fb", "%e2%80%ae", strings.Repeat("x", corpus.Long)}

// corpusCase is a case with the path it goes to, below the API.
type corpusCase struct {
	corpus.Case
	path string
}

func corpusCases(t *testing.T, e *endpoint) []corpusCase {
	fill := func(odd, value string) string {
		path := e.Path
		for _, name := range e.parameters {
			of := map[string]string{"org": "acme", "app": "docs", "userId": "u_7", "namespace": "docs"}[name]
			if of == "" {
				of = "x"
			}
			if name == odd {
				of = value
			}
			path = strings.Replace(path, "{"+name+"}", of, 1)
		}
		return path
	}
	good, query := bodyOf(t, e), queryOf(e)
	path := fill("", "")
	cases := []corpusCase{{corpus.Case{Name: "as it should be", Body: good}, path + query}}
	if e.takesBody() {
		for _, c := range append(corpus.Broken(), corpus.Wrong(good)...) {
			cases = append(cases, corpusCase{c, path + query})
		}
	}
	ask := func(name, query string) {
		cases = append(cases, corpusCase{corpus.Case{Name: "query " + name, Body: good}, path + "?" + query})
	}
	own := strings.TrimPrefix(query, "?")
	ask("with an unknown parameter", own+"&zzz=1")
	ask("that is not well-formed", own+"&%zz")
	for _, f := range tagged(e.input, "query") {
		for _, value := range corpusValues {
			if len(value) > 60 {
				ask(f.name+" = a long string", f.name+"="+value)
				continue
			}
			ask(f.name+" = "+value, f.name+"="+value)
		}
		ask(f.name+" twice", f.name+"=1&"+f.name+"=1")
		ask(f.name+" misspelt", f.name+"s=1")
		if own != "" {
			ask("without "+f.name, strings.Join(withoutParameter(own, f.name), "&"))
		}
	}
	for _, name := range e.parameters {
		for _, value := range corpusPaths {
			said := value
			if len(value) > 60 {
				said = "a long string"
			}
			cases = append(cases, corpusCase{corpus.Case{Name: "path " + name + " = " + said, Body: good}, fill(name, value) + query})
		}
	}
	return cases
}

func withoutParameter(query, name string) []string {
	var rest []string
	for part := range strings.SplitSeq(query, "&") {
		if !strings.HasPrefix(part, name+"=") {
			rest = append(rest, part)
		}
	}
	return rest
}

// requestID and serverURL are another in every answer and in every run.
var (
	requestID = regexp.MustCompile(`"requestId":"[^"]*"`)
	serverURL = regexp.MustCompile(`https?://127\.0\.0\.1:[0-9]+`)
)

// What is refused is held to the byte; of what is answered, the status.
func TestEveryEndpointRefusesAsItWasRecorded(t *testing.T) {
	files := map[string]bool{}
	for _, e := range endpoints().list {
		if e.browser {
			continue // it answers with pages, and with what is made up
		}
		name := strings.NewReplacer("/", ".", "{", "", "}", "").Replace(e.Method + e.Path)
		file := filepath.Join(corpusDir, name+".txt")
		files[file] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			owner := w.acme()
			c := owner
			switch {
			case e.Gate.Admits(service.CallerAdmin):
				c = owner.key(`{"kind":"admin","name":"a"}`)
			case e.Gate.Kind == service.GatePublisher:
				c = owner.key(`{"kind":"publisher","name":"b","namespace":"docs"}`)
			}
			step := time.Minute.Milliseconds()/int64(e.rate().PerMinute) + 1
			if strings.HasSuffix(e.Path, "/publish") { // which counts by the org as well
				step = time.Minute.Milliseconds()/int64(ratePublish.PerMinute) + 100
			}
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			r := &corpus.Record{}
			for _, k := range corpusCases(t, e) {
				w.clock.Add(step)
				got := c.asked(client, c.request(e.Method, k.path, k.Body))
				a := corpus.Answer{Status: got.Status, Header: http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"}}}
				if got.Status >= http.StatusBadRequest {
					a.Header = got.Header
					a.Body = corpus.Names{}.Normal(serverURL.ReplaceAllString(requestID.ReplaceAllString(got.Body, `"requestId":"…"`), "ORIGIN"))
				}
				r.Add(k.Case, a)
			}
			r.Compare(t, file)
		})
	}
	corpus.Complete(t, corpusDir, files)
}

// asked sends a request that need not be as the description says.
func (c caller) asked(client *http.Client, r *http.Request) corpus.Answer {
	c.w.t.Helper()
	resp, err := client.Do(r)
	c.w.must(err)
	defer resp.Body.Close()
	body, err := streamtest.Body(resp)
	c.w.must(err)
	return corpus.Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(body)}
}
