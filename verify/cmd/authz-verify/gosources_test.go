package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// goProject asks for one key from Go and one from TypeScript.
func goProject(t *testing.T) {
	t.Helper()
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	project(t, map[string]string{
		"authz-verify.config.json": `{"catalog":"catalog.json","gateNames":["mayI"],"go":{}}`,
		"go.mod":                   "module example.org/shop\n\ngo 1.24\n",
		"shop.go":                  "package shop\n\nimport \"example.org/shop/keys\"\n\nfunc mayI(key string) bool { return key != \"\" }\n\nvar ok = mayI(keys.Read)\n",
		"keys/keys.go":             "package keys\n\nconst Read = \"zoom.rooms.read\"\n",
		"src/a.ts":                 "if (can(\"zoom.rooms.delete\")) f()\n",
	})
}

const noGo = "authz-verify: 0 Go server functions: 0 gated, 0 exempt, 0 findings, 0 not followed\n"

func TestGoAndTypeScriptMakeOneReport(t *testing.T) {
	goProject(t)
	expectText(t, exitClean, "authz-verify: 3 file(s), 0 ignored, 0 error(s), 0 warning(s)\n"+noGo)
	write(t, "keys/keys.go", "package keys\n\nconst Read = \"zoom.rooms.raed\"\n")
	status, _, stderr := call(t)
	if status != exitIssues || !strings.HasPrefix(stderr, "✖ [unknown-pattern] shop.go:7 — \"zoom.rooms.raed\" ") || !strings.Contains(stderr, "\"zoom.rooms.read\" is declared but referenced by no gate") {
		t.Errorf("exit %d: %s", status, stderr)
	}
}

func TestTheReportEndsWithTheServerFunctionsOfBothLanguages(t *testing.T) {
	goProject(t)
	write(t, "authz-verify.config.json", `{"catalog":"catalog.json","gateNames":["mayI"],"judge":"exports","go":{"routes":{"public":["/health"]}}}`)
	write(t, "src/app/x/route.ts", "import { require } from 'x';\nexport async function GET() { await require(u, \"zoom.rooms.read\") }\n")
	write(t, "web/web.go", `package web

import "net/http"

func mayI(key string) bool { return key != "" }

func gated(w http.ResponseWriter, r *http.Request)  { if !mayI("zoom.rooms.read") { return } }
func open(w http.ResponseWriter, r *http.Request)   {}
func health(w http.ResponseWriter, r *http.Request) {}

func Serve(handlers map[string]http.HandlerFunc) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/gated", gated)
	mux.HandleFunc("/open", open)
	mux.HandleFunc("/health", health)
	for path, h := range handlers {
		mux.HandleFunc(path, h)
	}
	return http.ListenAndServe(":80", mux)
}
`)
	status, _, text := call(t)
	if status != exitIssues || !strings.HasSuffix(text, "authz-verify: 5 file(s), 0 ignored, 2 error(s), 0 warning(s)\n"+
		"authz-verify: 1 server functions: 1 gated, 0 exempt, 0 findings, 0 behind unknown wrappers\n"+
		"authz-verify: 3 Go server functions: 1 gated, 1 exempt, 1 findings, 1 not followed\n") {
		t.Errorf("exit %d\n%s", status, text)
	}
	const counts = `"judgedGo":{"serverFunctions":3,"gated":1,"exempt":1,"findings":1,"notFollowed":1}`
	if _, out, _ := call(t, "--format", "json"); !strings.Contains(out, `"unknownWrappers":0},`+counts+"}\n") {
		t.Error(out)
	}
	_, out, _ := call(t, "--format", "sarif")
	validSARIF(t, out)
	if flat := strings.Join(strings.Fields(out), ""); !strings.Contains(flat, counts) {
		t.Error(out)
	}
	write(t, "authz-verify.config.json", `{"catalog":"catalog.json","gateNames":["mayI"],"go":{"packages":["./web"]}}`)
	_, out, _ = call(t, "--format", "sarif")
	validSARIF(t, out)
	if flat := strings.Join(strings.Fields(out), ""); !strings.Contains(flat, `"properties":{"judgedGo":{"serverFunctions":3,"gated":1,"exempt":0,"findings":2,`) {
		t.Errorf("Go alone: %s", out)
	}
}

// The go command tells the real paths of a folder that was entered through a link.
func TestGoBelowALinkIsToldAlike(t *testing.T) {
	goProject(t)
	write(t, "keys/keys.go", "package keys\n\nconst Read = \"zoom.rooms.raed\"\n")
	_, _, want := call(t)
	link := filepath.Join(t.TempDir(), "link")
	dir, err := os.Getwd()
	if err == nil {
		err = os.Symlink(dir, link)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(link)
	if _, _, got := call(t); got != want {
		t.Errorf("through a link: %s\nwant: %s", got, want)
	}
}

func TestNoPackagesAreNone(t *testing.T) {
	goProject(t)
	write(t, "authz-verify.config.json", `{"catalog":"catalog.json","include":["src/a.ts"],"go":{"packages":[]}}`)
	if status, _, stderr := call(t); status == exitFailed || !strings.Contains(stderr, "authz-verify: 1 file(s)") {
		t.Errorf("exit %d: %s", status, stderr)
	}
}

func TestGoThatDoesNotLoadIsExit2(t *testing.T) {
	goProject(t)
	write(t, "shop.go", "package shop\n\nvar x = nope\n")
	expectFailed(t, "undefined: nope (and ") // a compiler's message, not the go command's text about it
	goProject(t)
	write(t, "authz-verify.config.json", `{"catalog":"catalog.json","go":{"packages":["./gone"]}}`)
	expectFailed(t, "authz-verify: ")
	write(t, "authz-verify.config.json", `{"catalog":"catalog.json","go":{"serverFunctions":["("]}}`)
	expectFailed(t, "missing closing )")
}

func TestAConstantThatChangedReportsTheGoFilesThatUseIt(t *testing.T) {
	const keys = "package keys\n\nconst Read = \"zoom.rooms.raed\"\n"
	nested := func(t *testing.T) {
		t.Chdir("keys")
		gitRun(t, "init", "-q")
		commit(t)
		t.Chdir("..")
	}
	for name, c := range map[string]struct {
		exclude string
		before  func(*testing.T) // of the first commit
		then    int              // before the change
	}{
		"a tracked file":                  {`[]`, func(*testing.T) {}, exitClean},
		"a file out of the report":        {`["keys/"]`, func(*testing.T) {}, exitClean},
		"a submodule":                     {`["keys/"]`, nested, exitClean},
		"a submodule that is not to show": {`["keys/"]`, func(t *testing.T) { nested(t); gitRun(t, "config", "diff.ignoreSubmodules", "all") }, exitClean},
		"an ignored file":                 {`["keys/"]`, func(t *testing.T) { write(t, ".gitignore", "keys/") }, exitIssues},
		"an ignored repository":           {`["keys/"]`, func(t *testing.T) { write(t, ".gitignore", "keys/"); nested(t) }, exitIssues},
	} {
		t.Run(name, func(t *testing.T) {
			repository(t)
			write(t, "authz-verify.config.json", `{"catalog":"catalog.json","gateNames":["mayI"],"include":[],"exclude":`+c.exclude+`,"go":{}}`)
			write(t, "go.mod", "module example.org/shop\n\ngo 1.24\n")
			write(t, "shop.go", "package shop\n\nimport \"example.org/shop/keys\"\n\nfunc mayI(key string) bool { return key != \"\" }\n\nvar ok = mayI(keys.Read)\n")
			write(t, "keys/keys.go", keys)
			c.before(t)
			commit(t)
			for _, step := range []struct {
				text string
				want int
			}{{keys, c.then}, {keys + "// changed\n", exitIssues}} {
				write(t, "keys/keys.go", step.text)
				if status, _, stderr := call(t, "--changed-since", "HEAD"); status != step.want {
					t.Errorf("exit %d, want %d: %s", status, step.want, stderr)
				}
			}
		})
	}
}

func TestWatchSeesGoFiles(t *testing.T) {
	goProject(t)
	ctx, stop := context.WithCancel(context.Background())
	var stdout, stderr told
	status := make(chan int)
	go func() { status <- run(ctx, []string{"--watch"}, &stdout, &stderr) }()
	stderr.next(t, "0 error(s), 0 warning(s)\n"+noGo+"authz-verify: watching for changes\n")
	write(t, "keys/keys.go", "package keys\n\nconst Read = \"zoom.rooms.raed\"\n")
	stderr.next(t, "1 error(s), 1 warning(s)")
	stop()
	if got := <-status; got != exitIssues {
		t.Errorf("exit %d, want that of the last run", got)
	}
}

func TestWatchSeesModulesAboveAndPackagesBeside(t *testing.T) {
	goProject(t)
	write(t, "web/authz-verify.config.json", `{"catalog":"../catalog.json","gateNames":["mayI"],"include":[],"go":{"packages":["example.org/shop","../keys/..."]}}`)
	t.Chdir("web")
	ctx, stop := context.WithCancel(context.Background())
	var stdout, stderr told
	status := make(chan int)
	go func() { status <- run(ctx, []string{"--watch"}, &stdout, &stderr) }()
	stderr.next(t, "0 error(s), 1 warning(s)\n"+noGo+"authz-verify: watching for changes\n")
	write(t, "../keys/keys.go", "package keys\n\nconst Read = \"zoom.rooms.raed\"\n")
	stderr.next(t, "1 error(s), 2 warning(s)")
	write(t, "../go.mod", "module example.org/market\n\ngo 1.24\n")
	stderr.next(t, "cannot load")
	write(t, "../go.mod", "module example.org/shop\n\ngo 1.24\n")
	stderr.next(t, "1 error(s), 2 warning(s)")
	write(t, "../go.sum", "")
	stderr.next(t, "1 error(s), 2 warning(s)")
	stop()
	<-status
}

// An interrupt that meets the next run half made leaves the status of the one before.
func TestAnInterruptedRunLeavesTheStatusOfTheLastWholeOne(t *testing.T) {
	goProject(t)
	write(t, "keys/keys.go", "package keys\n\nconst Read = \"zoom.rooms.raed\"\n")
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	slow := filepath.Join(bin, "slow")
	// The shell is replaced, so that the interrupt reaches what sleeps.
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\nif [ -e "+slow+" ]; then touch "+slow+".met; exec sleep 60; fi\nexec "+real+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var stdout, stderr told
	status := make(chan int)
	go func() { status <- run(ctx, []string{"--watch"}, &stdout, &stderr) }()
	stderr.next(t, "watching for changes\n")
	if err := os.WriteFile(slow, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, "src/a.ts", "")
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(slow + ".met"); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no run follows the change")
		}
	}
	stop()
	if got := <-status; got != exitIssues {
		t.Errorf("exit %d, want that of the last whole run", got)
	}
}
