package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

// pair is a source that answers both questions by functions.
type pair struct {
	crowdSource
	access    func(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error)
	ancestors func(ctx context.Context, scope string) ([]string, error)
}

func (s pair) GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	return s.access(ctx, p)
}

func (s pair) ResolveAncestors(ctx context.Context, scope string) ([]string, error) {
	return s.ancestors(ctx, scope)
}

// jointPair answers them together as well.
type jointPair struct {
	pair
	both func(ctx context.Context, p authz.Principal, scope string) (provider.AccessAt, error)
}

func (s jointPair) AccessAt(ctx context.Context, p authz.Principal, scope string) (provider.AccessAt, error) {
	return s.both(ctx, p, scope)
}

func held(p authz.Principal, active bool) authz.SubjectAccess {
	return authz.SubjectAccess{UserID: &p.UserID, Active: active, Closure: []string{p.Subject()},
		Grants: []authz.Grant{{ID: "g", Subject: p.Subject(), Pattern: "docs.*", Scope: "docs.folder:1"}}}
}

func coldClient(t *testing.T, source Source) *Client {
	in, err := catalog.ParseJSON([]byte(`{"namespaces":["docs"],"includeAuthzInternal":false,"permissions":{"docs.files.read":{"scopes":["docs.folder","docs.doc"]}},
		"scopeTypes":{"docs.folder":{},"docs.doc":{"parent":"docs.folder"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{Provider: source, Catalog: cat})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

var ann, bob = authz.Principal{UserID: "ann"}, authz.Principal{UserID: "bob"}

const coldKey, coldScope = "docs.files.read", "docs.doc:1"

// Over the wire a cold check asks for both at once.
func TestAColdCheckAsksForBothAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var other sync.WaitGroup
		other.Add(2)
		meet := func() { other.Done(); other.Wait() } // whoever comes alone waits for ever
		c := coldClient(t, pair{
			access: func(_ context.Context, p authz.Principal) (authz.SubjectAccess, error) {
				meet()
				return held(p, true), nil
			},
			ancestors: func(context.Context, string) ([]string, error) { meet(); return []string{"docs.folder:1", "*"}, nil },
		})
		if ok, err := c.Can(t.Context(), ann, coldKey, coldScope); !ok || err != nil {
			t.Error(ok, err)
		}
	})
}

// A failure of the access is told first, and ends what nobody waits for any more.
func TestAFailureOfTheAccessEndsTheAskingForTheChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("down")
		ended := make(chan struct{})
		c := coldClient(t, pair{
			access: func(context.Context, authz.Principal) (authz.SubjectAccess, error) {
				return authz.SubjectAccess{}, down
			},
			ancestors: func(ctx context.Context, _ string) ([]string, error) {
				<-ctx.Done()
				close(ended)
				return nil, ctx.Err()
			},
		})
		if _, err := c.Can(t.Context(), ann, coldKey, coldScope); !errors.Is(err, down) {
			t.Error(err)
		}
		<-ended
	})
}

func TestAColdCheckIsOneCallWhereTheProviderCan(t *testing.T) {
	var calls, alone atomic.Int32
	source := jointPair{
		pair{
			access: func(_ context.Context, p authz.Principal) (authz.SubjectAccess, error) {
				alone.Add(1)
				return held(p, true), nil
			},
			ancestors: func(context.Context, string) ([]string, error) {
				alone.Add(1)
				return []string{"docs.folder:1", "*"}, nil
			},
		},
		func(_ context.Context, p authz.Principal, scope string) (provider.AccessAt, error) {
			calls.Add(1)
			return provider.AccessAt{Access: held(p, true), Ancestors: []string{"docs.folder:1", "*"}}, nil
		},
	}
	c := coldClient(t, source)
	for range 3 {
		if ok, err := c.Can(t.Context(), ann, coldKey, coldScope); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if calls.Load() != 1 || alone.Load() != 0 {
		t.Fatalf("%d calls together and %d alone, want one and none", calls.Load(), alone.Load())
	}
	if ok, err := c.CanFresh(t.Context(), ann, coldKey, coldScope); !ok || err != nil || calls.Load() != 2 || alone.Load() != 0 {
		t.Fatalf("fresh: %v, %v, %d calls together and %d alone", ok, err, calls.Load(), alone.Load())
	}
	// What is cached is not asked for again.
	if ok, err := c.Can(t.Context(), bob, coldKey, coldScope); !ok || err != nil || calls.Load() != 2 || alone.Load() != 1 {
		t.Fatalf("a warm chain: %v, %v, %d calls together and %d alone", ok, err, calls.Load(), alone.Load())
	}
}

// A failed access of one principal is none of the chain's, for which others may wait.
func TestWhoWaitsForTheChainDoesNotHearOfAnothersAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("no such person")
		gate := make(chan struct{})
		source := jointPair{
			pair{
				access:    func(_ context.Context, p authz.Principal) (authz.SubjectAccess, error) { return held(p, true), nil },
				ancestors: func(context.Context, string) ([]string, error) { return []string{"docs.folder:1", "*"}, nil },
			},
			func(context.Context, authz.Principal, string) (provider.AccessAt, error) {
				<-gate
				return provider.AccessAt{}, down
			},
		}
		c := coldClient(t, source)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Can(t.Context(), ann, coldKey, coldScope); !errors.Is(err, down) {
				t.Error(err)
			}
		})
		synctest.Wait()
		wg.Go(func() { // joins the chain's fetch, and asks for its own access
			if ok, err := c.Can(t.Context(), bob, coldKey, coldScope); !ok || err != nil {
				t.Error(ok, err)
			}
		})
		synctest.Wait()
		close(gate)
		wg.Wait()
	})
}

// One who is not active is denied, whatever became of the chain.
func TestAJointAnswerWithoutAChainDeniesTheInactive(t *testing.T) {
	gap := errors.New("a gap in the chain")
	for _, active := range []bool{false, true} {
		c := coldClient(t, jointPair{pair{}, func(_ context.Context, p authz.Principal, _ string) (provider.AccessAt, error) {
			return provider.AccessAt{Access: held(p, active), AncestorsErr: gap}, nil
		}})
		ok, err := c.Can(t.Context(), ann, coldKey, coldScope)
		if ok || errors.Is(err, gap) != active {
			t.Errorf("active %v: %v, %v", active, ok, err)
		}
	}
}

// Whoever leaves ends the call when nobody else waits for it.
func TestACallTogetherEndsWithThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		c := coldClient(t, jointPair{pair{}, func(ctx context.Context, _ authz.Principal, _ string) (provider.AccessAt, error) {
			<-ctx.Done()
			close(ended)
			return provider.AccessAt{}, ctx.Err()
		}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { synctest.Wait(); cancel() }()
		if _, err := c.Can(ctx, ann, coldKey, coldScope); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		<-ended
	})
}
