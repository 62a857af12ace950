package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/google/go-cmp/cmp"
)

const sharedCatalog = `{"namespaces":["docs"],"includeAuthzInternal":false,
	"scopeTypes":{"docs.folder":{"parent":"docs.folder"},"docs.doc":{"parent":"docs.folder"}},
	"permissions":{"docs.files.read":{"scopes":["docs.folder","docs.doc"]}}}`

const start = int64(1700000000000)

// newSharedBench has two clients A and B over one store of entries, and the grant
// of one user.
func newSharedBench(t *testing.T, options cacheClient) *cacheBench {
	options.CacheStore = true
	b := newCacheBench(t, cacheCase{Start: start, Catalog: []byte(sharedCatalog),
		ScopeParents: map[string][]string{"docs.doc:1": {"docs.folder:9"}},
		Clients:      map[string]cacheClient{"A": options, "B": options}})
	mustWrite(t, b, false, "createGrant", `{"subject":"user:u1","pattern":"docs.files.read"}`)
	return b
}

func mustWrite(t *testing.T, b *cacheBench, remote bool, op, args string) {
	t.Helper()
	app := b.local
	if remote {
		app = b.remote
	}
	if err := b.write(app, cacheStep{Write: op, Args: []byte(args)}); err != nil {
		t.Fatal(err)
	}
}

// reads asks client name about u1 on the document, and answers what that cost.
func (b *cacheBench) reads(t *testing.T, name string, want bool) cacheCalls {
	t.Helper()
	b.source.take()
	got, err := b.clients[name].Can(context.Background(), authz.UserPrincipal("u1"), "docs.files.read", "docs.doc:1")
	if err != nil || got != want {
		t.Fatalf("client %s answered %v, %v, want %v", name, got, err, want)
	}
	return b.source.take()
}

func TestSharedEntriesHaveTheFormOfTheSpec(t *testing.T) {
	b := newSharedBench(t, cacheClient{})
	b.reads(t, "A", true)
	b.shared.await(2)
	location := b.local.Location()
	prefix := "authz:v1:bcq576:" + location.Partition + ":" + location.Incarnation + ":"
	head, err := b.local.EventLog().Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := b.local.GetSubjectAccess(context.Background(), authz.UserPrincipal("u1"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		prefix + "sub:u:u1":       fmt.Sprintf(`{"v":1,"seq":%d,"identity":%q,"freshUntil":%d,"data":%s}`, head.Seq, head.Identity, start+30000, data),
		prefix + "obj:docs.doc:1": fmt.Sprintf(`{"v":1,"seq":%d,"identity":%q,"freshUntil":%d,"chain":["docs.doc:1","docs.folder:9","*"]}`, head.Seq, head.Identity, start+60000),
	}
	if diff := cmp.Diff(want, b.shared.entries); diff != "" {
		t.Errorf("entries (-want +got)\n%s", diff)
	}
	for key, ttl := range b.shared.ttls {
		if ttl != 10*time.Minute {
			t.Errorf("%s is kept for %v", key, ttl)
		}
	}
}

// An entry that breaks one condition of serving is a miss; the provider answers.
func TestASharedEntryIsServedOnlyUnderEveryCondition(t *testing.T) {
	swap := func(old, replacement string) func(string) string {
		return func(v string) string { return strings.Replace(v, old, replacement, 1) }
	}
	for name, c := range map[string]struct {
		subject, chain func(string) string
		after          int64
		reported       bool
		subjectHit     bool
		chainHit       bool
	}{
		"untouched":                       {subjectHit: true, chainHit: true},
		"a version of the future":         {subject: swap(`"v":1`, `"v":2`), chainHit: true},
		"no version":                      {subject: swap(`"v":1,`, ``), chainHit: true},
		"not JSON":                        {subject: func(v string) string { return v[:len(v)/2] }, reported: true, chainHit: true},
		"another document":                {subject: func(string) string { return `[]` }, reported: true, chainHit: true},
		"null":                            {subject: func(string) string { return `null` }, chainHit: true},
		"no payload":                      {subject: swap(`"data":`, `"date":`), reported: true, chainHit: true},
		"another user's":                  {subject: swap(`"userId":"u1"`, `"userId":"u2"`), reported: true, chainHit: true},
		"a service's":                     {subject: swap(`"userId":"u1"`, `"userId":null`), reported: true, chainHit: true},
		"without the active flag":         {subject: swap(`"active":true`, `"aktive":true`), reported: true, chainHit: true},
		"without revokes":                 {subject: swap(`"revokes":[]`, `"revokes":null`), reported: true, chainHit: true},
		"with an empty revoke":            {subject: swap(`"revokes":[]`, `"revokes":[null]`), reported: true, chainHit: true},
		"with somebody else's revoke":     {subject: swap(`"revokes":[]`, `"revokes":[{"id":"r","userId":"u2","pattern":"*","scope":"*"}]`), reported: true, chainHit: true},
		"a grant to a stranger":           {subject: swap(`"subject":"user:u1"`, `"subject":"user:u2"`), reported: true, chainHit: true},
		"a grant without scope":           {subject: swap(`"scope":"*"`, `"scope":""`), reported: true, chainHit: true},
		"a grant of a role it lacks":      {subject: swap(`"pattern":"docs.files.read"`, `"roleId":"r"`), reported: true, chainHit: true},
		"a role without patterns":         {subject: swap(`"roles":[]`, `"roles":[{"id":"r","name":"r"}]`), reported: true, chainHit: true},
		"a malformed closure":             {subject: swap(`"everyone"]`, `"nobody"]`), reported: true, chainHit: true},
		"a chain of another scope":        {chain: swap(`"docs.doc:1"`, `"docs.doc:2"`), reported: true, subjectHit: true},
		"a chain without its end":         {chain: swap(`,"*"]`, `]`), reported: true, subjectHit: true},
		"a chain through everything":      {chain: swap(`"docs.folder:9"`, `"*"`), reported: true, subjectHit: true},
		"a chain with a hole":             {chain: swap(`"docs.folder:9"`, `null`), reported: true, subjectHit: true},
		"of an older head":                {subject: swap(`"seq":2`, `"seq":1`), chainHit: true},
		"of a newer head":                 {chain: swap(`"seq":2`, `"seq":3`), subjectHit: true},
		"of another event, same number":   {subject: swap(`"identity":"`, `"identity":"another`), chainHit: true},
		"that vouches for nothing":        {subject: swap(`"seq":2`, `"seq":null`), chainHit: true},
		"without an end":                  {subject: swap(`"freshUntil"`, `"staleUntil"`), reported: true, chainHit: true},
		"at its end":                      {after: 30000, chainHit: true},
		"of a writer with a fast clock":   {subject: swap(`"freshUntil":1700000030000`, `"freshUntil":1700000030001`), chainHit: true},
		"of a reader with a slow clock":   {after: -1},
		"that names a time as a fraction": {subject: swap(`"freshUntil":1700000030000`, `"freshUntil":1700000029999.5`), reported: true, chainHit: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSharedBench(t, cacheClient{})
			b.reads(t, "A", true)
			b.shared.await(2)
			for key, value := range b.shared.entries {
				switch {
				case strings.Contains(key, "sub:") && c.subject != nil:
					value = c.subject(value)
				case strings.Contains(key, "obj:") && c.chain != nil:
					value = c.chain(value)
				default:
					continue
				}
				if value == b.shared.entries[key] {
					t.Fatalf("the case changes nothing in %s", value)
				}
				b.shared.entries[key] = value
			}
			b.now.Add(c.after)
			var reported atomic.Int64
			reader, err := client.New(client.Options{Provider: b.source, Catalog: b.local.Catalog(), Clock: b.now.Load, CacheStore: b.shared,
				OnCacheStoreError: func(err error) {
					var typed *client.CacheStoreError
					if !errors.As(err, &typed) || typed.Op != "get" {
						t.Errorf("reported %#v", err)
					}
					reported.Add(1)
				}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(reader.Close)
			b.clients["reader"] = reader
			calls := b.reads(t, "reader", true)
			if hit := calls.Subject == 0; hit != c.subjectHit {
				t.Errorf("closure served = %v, want %v", hit, c.subjectHit)
			}
			if hit := calls.Ancestors == 0; hit != c.chainHit {
				t.Errorf("chain served = %v, want %v", hit, c.chainHit)
			}
			if (reported.Load() > 0) != c.reported {
				t.Errorf("reported %d errors, want some = %v", reported.Load(), c.reported)
			}
		})
	}
}

func TestTheWritingProcessSeesItsWriteAlthoughTheSharedEntryLooksCurrent(t *testing.T) {
	for name, options := range map[string]cacheClient{"with revalidation": {}, "on TTL only": {RevalidateAfterMs: false}} {
		t.Run(name, func(t *testing.T) {
			b := newSharedBench(t, options)
			b.reads(t, "A", true)
			b.shared.await(2)
			mustWrite(t, b, false, "createRevoke", `{"userId":"u1","pattern":"docs.files.read"}`)
			b.reads(t, "A", false)
			b.now.Add(1000)
			mustWrite(t, b, false, "setUserActive", `{"userId":"u1","active":false}`)
			b.reads(t, "A", false)
		})
	}
}

func TestALiveEventClosesTheSharedTierUntilTheNextLook(t *testing.T) {
	b := newSharedBench(t, cacheClient{})
	b.reads(t, "A", true)
	b.shared.await(2)
	mustWrite(t, b, false, "createGrant", `{"subject":"user:u2","pattern":"docs.files.read"}`)
	b.reads(t, "A", true)
	b.shared.take()
	if calls := b.reads(t, "B", true); calls.Subject != 1 || calls.Head != 1 {
		t.Errorf("B looks for the first time, at a newer head than the entries are of: %+v", calls)
	}
	b.shared.await(2)
	b.now.Add(5001)
	mustWrite(t, b, true, "createGrant", `{"subject":"user:u3","pattern":"docs.files.read"}`)
	b.reads(t, "A", true)
	b.shared.take()
	mustWrite(t, b, false, "setGroupMembership", `{"userId":"u1","groupIds":[]}`)
	if b.reads(t, "A", true); b.shared.take().Hits+b.shared.take().Misses != 0 {
		t.Error("the store was asked although only this process knows of its write")
	}
}

func TestAnUnreadableLogLeavesTheSharedTierCold(t *testing.T) {
	b := newSharedBench(t, cacheClient{SubjectCacheTTLMs: new(20000)})
	b.reads(t, "A", true)
	b.shared.await(2)
	b.source.epochFail.Store(true)
	b.shared.take()
	if calls := b.reads(t, "B", true); calls.Subject != 1 || calls.Ancestors != 1 {
		t.Errorf("an entry was served without a first contact: %+v", calls)
	}
	if traffic := b.shared.take(); traffic.Hits+traffic.Misses != 0 {
		t.Errorf("the store was asked: %+v", traffic)
	}
	b.now.Add(20001) // A's closure has lapsed
	if calls := b.reads(t, "A", true); calls.Subject != 1 {
		t.Errorf("an entry was served while the log is unreadable: %+v", calls)
	}
}

func TestASharedEntryLivesNoLongerForBeingPassedOn(t *testing.T) {
	b := newSharedBench(t, cacheClient{RevalidateAfterMs: false})
	b.now.Add(60000) // the grant of the bench was heard live
	b.reads(t, "A", true)
	b.shared.await(2)
	b.now.Add(20000)
	if calls := b.reads(t, "B", true); calls.Subject != 0 {
		t.Errorf("B fetched: %+v", calls)
	}
	mustWrite(t, b, true, "createRevoke", `{"userId":"u1","pattern":"docs.files.read"}`)
	b.now.Add(9999)
	b.reads(t, "B", true)
	b.now.Add(1)
	b.reads(t, "B", false)
}

func TestFreshSkipsTheSharedTierAndFillsIt(t *testing.T) {
	b := newSharedBench(t, cacheClient{})
	b.reads(t, "A", true)
	b.shared.await(2)
	mustWrite(t, b, true, "createRevoke", `{"userId":"u1","pattern":"docs.files.read"}`)
	b.shared.take()
	ok, err := b.clients["A"].CanFresh(context.Background(), authz.UserPrincipal("u1"), "docs.files.read", "docs.doc:1")
	if ok || err != nil {
		t.Fatal(ok, err)
	}
	b.shared.await(2)
	if diff := cmp.Diff(cacheTraffic{Sets: 2}, b.shared.take()); diff != "" {
		t.Error(diff)
	}
}

// placed is a source that says where it reads.
type placed struct {
	client.Source
	at provider.Location
}

func (p placed) Location() provider.Location { return p.at }

// unplaced hides where the application reads, as a provider over HTTP does.
type unplaced struct{ client.Source }

func TestTheKeyPrefixNamesCatalogPartitionAndIncarnation(t *testing.T) {
	b := newSharedBench(t, cacheClient{})
	incarnation := b.local.Location().Incarnation
	off := new(-time.Second)
	for name, c := range map[string]struct {
		source     client.Source
		prefix     string
		revalidate *time.Duration
		want       string
	}{
		"of a partition":                        {source: placed{b.local, provider.Location{Partition: "docs", Incarnation: "i1"}}, revalidate: off, want: "authz:v1:bcq576:docs:i1:"},
		"by the log that was looked at":         {source: placed{b.local, provider.Location{Partition: "docs", Incarnation: "old"}}, want: "authz:v1:bcq576:docs:" + incarnation + ":"},
		"unpartitioned":                         {source: placed{b.local, provider.Location{Incarnation: "i1"}}, revalidate: off, want: "authz:v1:bcq576::i1:"},
		"without an incarnation":                {source: placed{b.local, provider.Location{Partition: "docs"}}, revalidate: off, want: "authz:v1:bcq576:docs::"},
		"with neither":                          {source: unplaced{b.local}, revalidate: off, want: "authz:v1:bcq576:"},
		"over the wire, by its log":             {source: unplaced{b.local}, want: "authz:v1:bcq576::" + incarnation + ":"},
		"chosen":                                {source: placed{b.local, provider.Location{Partition: "docs", Incarnation: "i1"}}, prefix: "acme:", revalidate: off, want: "acme:i1:"},
		"chosen, incarnation unknown":           {source: unplaced{b.local}, prefix: "acme:", revalidate: off, want: "acme:"},
		"chosen, by the log looked at":          {source: unplaced{b.local}, prefix: "acme:", want: "acme:" + incarnation + ":"},
		"of several stores, by their log":       {source: placed{b.local, provider.Location{Partition: "docs", Incarnation: "own", Composite: true}}, want: "authz:v1:bcq576:docs:" + incarnation + ":"},
		"of several stores, which no log names": {source: placed{b.local, provider.Location{Composite: true}}, revalidate: off},
	} {
		t.Run(name, func(t *testing.T) {
			store := newMapStore()
			cl, err := client.New(client.Options{Provider: c.source, Catalog: b.local.Catalog(), Clock: b.now.Load,
				CacheStore: store, CacheKeyPrefix: c.prefix, RevalidateAfter: c.revalidate})
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			if _, err := cl.Can(context.Background(), authz.ServicePrincipal("s1"), "docs.files.read", ""); err != nil {
				t.Fatal(err)
			}
			var want []string
			if c.want != "" {
				store.await(1)
				want = []string{c.want + "sub:s:s1"}
			}
			if diff := cmp.Diff(want, store.keys()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
