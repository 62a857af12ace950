package api

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/sdk/provider"
)

func TestEveryOperationOfTheManifestHasAHandlerAndNoOther(t *testing.T) {
	served, err := entries()
	if err != nil {
		t.Fatal(err)
	}
	for op := range wireEntries() {
		if declared, ok := provider.LookupOperation(op); !ok || declared.Carried() {
			t.Errorf("%s is not for this side alone to answer", op)
		}
	}
	for op := range patience {
		if _, ok := served[op]; !ok {
			t.Errorf("%s has time and is no operation", op)
		}
	}
}

func TestEveryOperationHasAClass(t *testing.T) {
	known, err := entries()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range localEntries() {
		known[e.Op] = e
	}
	for op := range readers {
		if e, ok := known[op]; !ok || e.class() != admission.List || e.Kind != provider.Read {
			t.Errorf("%s is no read of many rows", op)
		}
	}
	for op, e := range known {
		class := e.class()
		switch {
		case op == "check":
			if class != admission.Check {
				t.Errorf("check is a %s", class)
			}
		case (e.Kind == provider.Write) != (class == admission.Write):
			t.Errorf("%s is a %s", op, class)
		case strings.HasPrefix(e.Op, "list") && class != admission.List:
			t.Errorf("%s is a %s", op, class)
		}
	}
}

func TestManifestAndProviderInterfaceCorrespond(t *testing.T) {
	// The live stream never crosses, and the event log is carried by its two operations.
	notOperations := []string{"OnInvalidate", "EventLog"}
	methods := map[string]bool{}
	for method := range reflect.TypeFor[provider.Provider]().Methods() {
		methods[method.Name] = true
	}
	named := map[string]bool{}
	for _, op := range provider.Operations {
		if op.Method == "" {
			continue
		}
		if !methods[op.Method] {
			t.Errorf("%s names the method %s, which Provider does not have", op.Op, op.Method)
		}
		if named[op.Method] {
			t.Errorf("the method %s is named twice", op.Method)
		}
		named[op.Method] = true
	}
	for method := range methods {
		if !named[method] && !slices.Contains(notOperations, method) {
			t.Errorf("Provider.%s is in no row of the manifest", method)
		}
	}
}

func TestOperationsOfTheSocketDoNotShadowTheManifest(t *testing.T) {
	for _, e := range localEntries() {
		if _, ok := provider.LookupOperation(e.Op); ok {
			t.Errorf("%s is an operation of the manifest", e.Op)
		}
	}
}
