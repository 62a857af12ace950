package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/verify/config"
	"github.com/google/go-cmp/cmp"
)

func TestEveryFieldIsRead(t *testing.T) {
	c, unknown, err := config.Parse([]byte(` {"catalog": "c.json", "include": ["a", "b"], "exclude": ["x"], "gateNames": ["g"], "visibilityNames": ["v"],
		"serverFilePatterns": ["p", ""], "forbidClientIdentifiers": ["f"], "importManifest": "m.json", "imports": {"crm": "crm.json"},
		"importSource": "none", "implicitImports": "off", "implicitImportAllow": ["n"],
		"go": {"packages": ["./x"], "tests": true, "clientPackages": ["p/..."], "serverFunctions": ["s"], "clientFilePatterns": ["w"]}} `))
	if err != nil || unknown != nil {
		t.Fatal(err, unknown)
	}
	want := &config.Config{Catalog: "c.json", Include: []string{"a", "b"}, Exclude: []string{"x"}, GateNames: []string{"g"},
		VisibilityNames: []string{"v"}, ServerFilePatterns: []string{"p", ""}, ForbidClientIdentifiers: []string{"f"}, ImportManifest: "m.json",
		Imports: map[string]string{"crm": "crm.json"}, ImportSource: "none", ImplicitImports: "off", ImplicitImportAllow: []string{"n"},
		Go: &config.Go{Packages: []string{"./x"}, Tests: true, ClientPackages: []string{"p/..."}, ServerFunctions: []string{"s"}, ClientFiles: []string{"w"}}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

func TestDefaults(t *testing.T) {
	for text, want := range map[string]*config.Config{
		`{"catalog":"c"}`:              {Catalog: "c", Include: []string{"src"}},
		`{"catalog":"c","include":[]}`: {Catalog: "c", Include: []string{}},
		`{"catalog":"c","go":{}}`:      {Catalog: "c", Include: []string{"src"}, Go: &config.Go{Packages: []string{"./..."}}},
	} {
		c, unknown, err := config.Parse([]byte(text))
		if err != nil || unknown != nil {
			t.Errorf("%s: %v %v", text, err, unknown)
		}
		if diff := cmp.Diff(want, c); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestUnknownFieldsAreToldAndRemarksAreNot(t *testing.T) {
	_, unknown, err := config.Parse([]byte(`{"// catalog": 1, "//": "x", "catalog": "c", "Include": 7, "go": {"// y": 2}, "nope": null, "nope": null}`))
	if diff := cmp.Diff([]string{"Include", "nope", "nope"}, unknown); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestAnUnknownMemberOfGoIsRefusedWithASuggestion(t *testing.T) {
	for text, want := range map[string]string{
		`{"serverFunction": []}`:              `bad config field "go.serverFunction": is not known — did you mean "serverFunctions"?`,
		`{"x": 1}`:                            `bad config field "go.x": is not known; members here are clientFilePatterns, clientPackages, packages, routes, serverFunctions, tests`,
		`{"routes": {"gate": []}}`:            `bad config field "go.routes.gate": is not known — did you mean "gates"?`,
		`{"routes": {"public": ["x"]}}`:       `bad config field "go.routes.public": entry 0 must name a path that begins with /`,
		`{"routes": {"public": ["get /x"]}}`:  `bad config field "go.routes.public": entry 0 must be a path or a method and a path, as "GET /health"`,
		`{"routes": {"public": ["/*"]}}`:      `bad config field "go.routes.public": entry 0 would leave no route to judge: name what is public, as "/static/*"`,
		`{"routes": {"public": ["/x*"]}}`:     `bad config field "go.routes.public": entry 0 must end in /* for all that lies below`,
		`{"routes": {"routers": ["Router"]}}`: `bad config field "go.routes.routers": entry 0 must be an import path and a type, as "example.com/app/web.Router"`,
	} {
		_, _, err := config.Parse([]byte(`{"catalog": "c", "go": ` + text + `}`))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	c, unknown, err := config.Parse([]byte(`{"catalog": "c", "go": {"routes": {"// why": 1, "gates": ["g"], "public": ["GET /a", "/b/*", "/"], "routers": ["example.com/a.T"]}}}`))
	want := &config.Routes{Gates: []string{"g"}, Public: []string{"GET /a", "/b/*", "/"}, Routers: []string{"example.com/a.T"}}
	if err != nil || unknown != nil || cmp.Diff(want, c.Go.Routes) != "" {
		t.Error(c, unknown, err)
	}
}

// wrong are values of another type than each kind of field takes, or no value of it.
var (
	notText  = []string{`1`, `null`, `true`, `{}`, `[]`, `["x"]`, `""`}
	notTexts = []string{`"x"`, `null`, `{}`, `1`, `false`, `[1]`, `["x",null]`, `[["x"]]`}
)

func TestAWrongFieldIsNamed(t *testing.T) {
	wrong := map[string][]string{
		"catalog":                 notText,
		"include":                 append([]string{`[""]`}, notTexts...),
		"exclude":                 append([]string{`["x",""]`}, notTexts...),
		"gateNames":               append([]string{`[""]`}, notTexts...),
		"visibilityNames":         append([]string{`[""]`}, notTexts...),
		"serverFilePatterns":      notTexts,
		"forbidClientIdentifiers": append([]string{`[""]`}, notTexts...),
		"importManifest":          notText,
		"imports":                 {`[]`, `"x"`, `null`, `{"crm":1}`, `{"crm":""}`, `{"":"x"}`, `{"crm":null}`, `{"crm":"a","crm":"b"}`},
		"importSource":            append([]string{`"Registry"`, `"off"`}, notText...),
		"implicitImports":         append([]string{`"warning"`, `"ERROR"`}, notText...),
		"implicitImportAllow":     append([]string{`[""]`}, notTexts...),
		"go":                      {`true`, `[]`, `null`, `"./..."`},
		"go.packages":             append([]string{`[""]`}, notTexts...),
		"go.tests":                {`"true"`, `1`, `null`, `[]`},
		"go.clientPackages":       append([]string{`[""]`}, notTexts...),
		"go.serverFunctions":      notTexts,
		"go.clientFilePatterns":   notTexts,
	}
	for name, values := range wrong {
		for _, value := range values {
			text := `{"catalog": "c", "` + name + `": ` + value + `}`
			if name == "catalog" {
				text = `{"catalog": ` + value + `}`
			}
			if inner, ok := strings.CutPrefix(name, "go."); ok {
				text = `{"catalog": "c", "go": {"` + inner + `": ` + value + `}}`
			}
			_, _, err := config.Parse([]byte(text))
			var field *config.FieldError
			if !errors.As(err, &field) || field.Field != name || field.Reason == "" {
				t.Errorf("%s: error = %v, want one of the field %s", text, err, name)
			}
		}
	}
	for text, name := range map[string]string{`{}`: "catalog", `{"catalog":"a","catalog":"b"}`: "catalog", `{"catalog":"a","include":[],"include":[]}`: "include"} {
		_, _, err := config.Parse([]byte(text))
		var field *config.FieldError
		if !errors.As(err, &field) || field.Field != name {
			t.Errorf("%s: error = %v, want one of the field %s", text, err, name)
		}
	}
}

func TestWhatIsNoObjectCannotBeRead(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, text := range []string{``, `{nope`, `[]`, `"x"`, `null`, `1`, `{"catalog":"c"} {}`, `{"catalog":"c"}//`, `{"catalog":"c",}`, "\xef\xbb\xbf{\"catalog\":\"c\"}"} {
		if err := os.WriteFile("c.json", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		abs, err := filepath.Abs("c.json")
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = config.Load("c.json")
		var read *config.ReadError
		if !errors.As(err, &read) || read.Path != abs || !strings.HasPrefix(err.Error(), "cannot read config "+abs+": ") {
			t.Errorf("%q: error = %v", text, err)
		}
	}
	_, _, err := config.Load("gone.json")
	if err == nil || !strings.HasSuffix(err.Error(), "gone.json: no such file or directory") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestWhatBelongsToExportsIsReadStrictly(t *testing.T) {
	c, _, err := config.Parse([]byte(`{"catalog":"c","judge":"exports","gateWrappers":["a"],"passThroughWrappers":["b"],"publicWrappers":["d"],
		"gateMiddleware":["m"],"refusalsGate":true,"exempt":{"^x/":"why","// y":1}}`))
	want := &config.Config{Catalog: "c", Include: []string{"src"}, Judge: config.JudgeExports, GateWrappers: []string{"a"}, PassThroughWrappers: []string{"b"},
		PublicWrappers: []string{"d"}, GateMiddleware: []string{"m"}, RefusalsGate: true, Exempt: map[string]string{"^x/": "why"}}
	if diff := cmp.Diff(want, c); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for text, want := range map[string]string{
		`{"catalog":"c","judge":"export"}`:                                              `bad config field "judge": must be one of ["exports"]`,
		`{"catalog":"c","judge":"exports","gateWraper":[]}`:                             `bad config field "gateWraper": there is no such field: did you mean "gateWrappers"?`,
		`{"catalog":"c","judge":"exports","go":{"test":true}}`:                          `bad config field "go.test": is not known — did you mean "tests"?`,
		`{"catalog":"c","gateWrappers":[]}`:                                             `bad config field "gateWrappers": has an effect only beside "judge": "exports"`,
		`{"catalog":"c","exempt":{}}`:                                                   `bad config field "exempt": has an effect only beside "judge": "exports"`,
		`{"catalog":"c","judge":"exports","gateWrappers":["x"],"publicWrappers":["x"]}`: `bad config field "publicWrappers": "x" is in gateWrappers too: a wrapper is one or the other`,
		`{"catalog":"c","judge":"exports","exempt":{"a(?=b)":"x"}}`:                     `bad config field "exempt": "a(?=b)": error parsing regexp: lookaround`,
		`{"catalog":"c","judge":"exports","exempt":{"a":" "}}`:                          `bad config field "exempt": "a" needs a reason`,
		`{"catalog":"c","judge":"exports","exempt":{"a":1}}`:                            `bad config field "exempt": "a" needs a reason`,
		`{"catalog":"c","judge":"exports","exempt":{"":"x"}}`:                           `bad config field "exempt": the pattern "" matches every file`,
		`{"catalog":"c","judge":"exports","exempt":{"a":"x","a":"y"}}`:                  `bad config field "exempt": "a" is given more than once`,
		`{"catalog":"c","judge":"exports","exempt":[]}`:                                 `bad config field "exempt": must be an object of path pattern to reason, not an array`,
	} {
		if _, _, err := config.Parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
