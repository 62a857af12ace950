package store_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/storage"
)

// TestEveryCallOfADriverIsObservedByItsName calls every method that the seam has:
// one that is added and not measured shows here.
func TestEveryCallOfADriverIsObservedByItsName(t *testing.T) {
	driver := memory.New(memory.Options{})
	t.Cleanup(func() { _ = driver.Close() })
	var calls []string
	s, err := store.Open(t.Context(), driver, "p", store.Options{Observe: func(call, outcome string, took time.Duration) {
		if outcome == "" || took < 0 {
			t.Errorf("%s: outcome %q after %s", call, outcome, took)
		}
		calls = append(calls, call)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	seam := reflect.TypeFor[storage.Store]()
	for i := range seam.NumMethod() {
		m := seam.Method(i)
		if slices.Contains([]string{"Info", "Close", "Watch"}, m.Name) {
			continue
		}
		calls = nil
		callWithZeros(t, reflect.ValueOf(s).MethodByName(m.Name))
		if !slices.Contains(calls, m.Name) {
			t.Errorf("%s was observed as %v", m.Name, calls)
		}
	}
}

func callWithZeros(t *testing.T, method reflect.Value) {
	in := []reflect.Value{reflect.ValueOf(t.Context())}
	for i := 1; i < method.Type().NumIn(); i++ {
		in = append(in, reflect.Zero(method.Type().In(i)))
	}
	out := method.Call(in)
	switch got := out[0].Interface().(type) {
	case storage.Section:
		if got != nil {
			_ = got.Release(t.Context())
		}
	}
	if out[0].Kind() == reflect.Func { // a list
		stop := reflect.MakeFunc(out[0].Type().In(0), func([]reflect.Value) []reflect.Value {
			return []reflect.Value{reflect.ValueOf(false)}
		})
		out[0].Call([]reflect.Value{stop})
	}
}

func TestTheTimeOfAListIsNotItsConsumers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := memory.New(memory.Options{})
		t.Cleanup(func() { _ = driver.Close() })
		seen := map[string]time.Duration{}
		outcomes := map[string]string{}
		s, err := store.Open(t.Context(), driver, "p", store.Options{Observe: func(call, outcome string, took time.Duration) {
			seen[call], outcomes[call] = took, outcome
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if _, err := s.Commit(t.Context(), insert("g1")); err != nil {
			t.Fatal(err)
		}
		for range s.ListGrants(t.Context(), storage.GrantFilter{}, storage.Page{}) {
			time.Sleep(300 * time.Millisecond)
		}
		if took, ok := seen["ListGrants"]; !ok || took > 200*time.Millisecond {
			t.Errorf("the list took %s (%v)", took, ok)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.ReadAccess(ended, storage.AccessQuery{UserID: "u1"}); err == nil {
			t.Error("read with a context that ended")
		}
		if outcomes["Commit"] != store.OutcomeOK {
			t.Errorf("the commit's outcome is %q", outcomes["Commit"])
		}
	})
}
