package plugin

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Generators of everything that crosses. Optional members are absent, present
// and zero, and present with a value.

var text = rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{"a", "docs.doc:1", "Ä́\u2028\t", "$ne", "\"<>&", "\u0000"}), rapid.String())

func some(s *rapid.T, label string) string { return text.Draw(s, label) }

var instants = rapid.SampledFrom([]int64{0, 1, -1, authz.MaxInstant, -authz.MaxInstant, math.MaxInt64, math.MinInt64, 1700000000000})

func optional[T any](t *rapid.T, label string, g *rapid.Generator[T]) *T {
	return rapid.Ptr(g, true).Draw(t, label)
}

// texts are nil, empty or filled.
var texts = rapid.Custom(func(t *rapid.T) []string {
	if rapid.Bool().Draw(t, "nil") {
		return nil
	}
	return append([]string{}, rapid.SliceOfN(text, 0, 3).Draw(t, "values")...)
})

var expiries = rapid.Custom(func(t *rapid.T) authz.Expiry {
	if at := optional(t, "at", instants); at != nil {
		return authz.ExpiresAt(*at)
	}
	return authz.Expiry{}
})

var documents = rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{}`), json.RawMessage(`null`), json.RawMessage(`{"a":[1.0,"\u00e4",{"$set":1e400}]}`)})

var provenances = rapid.Custom(func(t *rapid.T) authz.Provenance {
	return authz.Provenance{Kind: authz.ProvenanceKind(some(t, "kind")), ActorUserID: some(t, "a"), RequestID: some(t, "b"),
		ApprovedBy: some(t, "c"), VirtualParentID: some(t, "d"), OriginalGrantID: some(t, "e"), Source: some(t, "f"),
		IntegrationID: some(t, "g"), Note: some(t, "h"), Via: some(t, "i")}
})

var grants = rapid.Custom(func(t *rapid.T) authz.Grant {
	return authz.Grant{ID: some(t, "id"), Subject: some(t, "subject"), RoleID: some(t, "role"), Pattern: some(t, "pattern"),
		Scope: some(t, "scope"), ExpiresAt: expiries.Draw(t, "expires"), Provenance: provenances.Draw(t, "p"), CreatedAt: instants.Draw(t, "created")}
})

var revokes = rapid.Custom(func(t *rapid.T) authz.Revoke {
	return authz.Revoke{ID: some(t, "id"), UserID: some(t, "user"), Pattern: some(t, "pattern"), Scope: some(t, "scope"),
		Provenance: provenances.Draw(t, "p"), CreatedAt: instants.Draw(t, "created")}
})

var stages = rapid.Custom(func(t *rapid.T) authz.Stage {
	s := authz.Stage{Kind: some(t, "kind"), RoleID: some(t, "role"), Layers: optional(t, "layers", instants)}
	if rapid.Bool().Draw(t, "predicate") {
		s.Predicate = &authz.Predicate{Type: some(t, "type"), GroupID: some(t, "g"), OrgID: some(t, "o"), Subject: some(t, "s"), Pattern: some(t, "p")}
	}
	return s
})

var roles = rapid.Custom(func(t *rapid.T) authz.Role {
	r := authz.Role{ID: some(t, "id"), Name: some(t, "name"), Description: some(t, "description"), Patterns: texts.Draw(t, "patterns")}
	if rapid.Bool().Draw(t, "requestable") {
		r.Requestable = &authz.Requestable{
			MaxDurationMs: rapid.Int64().Draw(t, "ms"), RequireExpiry: rapid.Bool().Draw(t, "must"),
			Stages: rapid.SliceOfN(stages, 1, 2).Draw(t, "stages"),
			Prompts: []authz.Prompt{{ID: some(t, "id"), Label: some(t, "label"), Kind: some(t, "kind"),
				Options: []string{some(t, "option")}, Required: optional(t, "required", rapid.Bool())}},
		}
	}
	return r
})

var groups = rapid.Custom(func(t *rapid.T) authz.Group {
	return authz.Group{ID: some(t, "id"), Name: some(t, "name"), Description: some(t, "d"), Parents: texts.Draw(t, "parents"), Virtual: rapid.Bool().Draw(t, "v")}
})

var users = rapid.Custom(func(t *rapid.T) authz.User {
	return authz.User{UserID: some(t, "id"), Active: rapid.Bool().Draw(t, "active"), GroupIDs: texts.Draw(t, "groups"),
		OrgIDs: texts.Draw(t, "orgs"), ManagerUserID: some(t, "manager")}
})

var requests = rapid.Custom(func(t *rapid.T) authz.Request {
	r := authz.Request{ID: some(t, "id"), RequesterUserID: some(t, "user"), RoleID: some(t, "role"), Pattern: some(t, "pattern"),
		Scope: some(t, "scope"), ProposedExpiresAt: expiries.Draw(t, "expires"), State: authz.RequestState(some(t, "state")),
		StageIndex: instants.Draw(t, "stage"), CreatedAt: instants.Draw(t, "created"), DecidedAt: optional(t, "decided", instants),
		Stages: rapid.SliceOfN(stages, 0, 2).Draw(t, "stages")}
	if rapid.Bool().Draw(t, "answers") {
		r.Justification = rapid.MapOfN(text, text, 0, 2).Draw(t, "justification")
	}
	if rapid.Bool().Draw(t, "decisions") {
		r.Decisions = []authz.Decision{{StageIndex: 1, DecidedBy: some(t, "by"), Decision: some(t, "decision"), At: instants.Draw(t, "at"), Note: some(t, "note")}}
	}
	return r
})

var auditEntries = rapid.Custom(func(t *rapid.T) authz.AuditEntry {
	return authz.AuditEntry{ID: some(t, "id"), At: instants.Draw(t, "at"), Actor: some(t, "actor"), Action: some(t, "action"),
		Target: some(t, "target"), Detail: documents.Draw(t, "detail"), PrevHash: some(t, "prev"), Hash: some(t, "hash")}
})

var events = rapid.Custom(func(t *rapid.T) authz.Event {
	return authz.Event{Type: authz.EventType(some(t, "type")), UserID: some(t, "u"), Subject: some(t, "s"), RoleID: some(t, "r"), Scope: some(t, "sc")}
})

var records = rapid.Custom(func(t *rapid.T) storage.Record {
	return storage.Record{Collection: some(t, "c"), ID: some(t, "id"), Version: instants.Draw(t, "v"), Data: documents.Draw(t, "data"),
		Keys: [4]string{some(t, "1"), some(t, "2"), some(t, "3"), some(t, "4")}, UpdatedAt: instants.Draw(t, "at")}
})

var expects = rapid.Custom(func(t *rapid.T) storage.RequestExpect {
	return storage.RequestExpect{State: authz.RequestState(some(t, "state")), StageIndex: instants.Draw(t, "stage")}
})

var changes = rapid.Custom(func(t *rapid.T) storage.Change {
	flag := rapid.Bool().Draw(t, "flag")
	id, n, list := some(t, "id"), instants.Draw(t, "n"), texts.Draw(t, "list")
	switch rapid.IntRange(0, 19).Draw(t, "change") {
	case 0:
		return storage.InsertGrant{Grant: grants.Draw(t, "grant")}
	case 1:
		return storage.InsertRevoke{Revoke: revokes.Draw(t, "revoke")}
	case 2:
		return storage.InsertRequest{Request: requests.Draw(t, "request")}
	case 3:
		return storage.DeleteGrant{ID: id, MustExist: flag}
	case 4:
		return storage.DeleteRevoke{ID: id, MustExist: flag}
	case 5:
		return storage.DeleteRequest{ID: id, MustExist: flag, Expect: optional(t, "expect", expects)}
	case 6:
		return storage.UpsertRole{Role: roles.Draw(t, "role")}
	case 7:
		return storage.UpsertGroup{Group: groups.Draw(t, "group")}
	case 8:
		return storage.UpsertUser{User: users.Draw(t, "user")}
	case 9:
		p := storage.PatchUser{UserID: id, Active: optional(t, "active", rapid.Bool()), ManagerUserID: optional(t, "manager", text)}
		if flag {
			p.GroupIDs = &list
		} else {
			p.OrgIDs = &list
		}
		return p
	case 10:
		return storage.DeleteRole{ID: id, Unnamed: flag}
	case 11:
		return storage.DeleteGroup{ID: id}
	case 12:
		return storage.DeleteUser{UserID: id}
	case 13:
		return storage.UpdateRequest{Request: requests.Draw(t, "request"), Expect: optional(t, "expect", expects)}
	case 14:
		return storage.PutCatalog{Version: n, Document: documents.Draw(t, "d"), PublishedAt: n, Expect: optional(t, "expect", instants)}
	case 15:
		return storage.PutImports{Version: n, Manifest: documents.Draw(t, "d"), Expect: optional(t, "expect", instants)}
	case 16:
		return storage.PutScopeParents{Scope: id, Parents: list}
	case 17:
		return storage.DeleteScopeParents{Scope: id}
	case 18:
		return storage.PutRecord{Record: records.Draw(t, "record"), Expect: n}
	default:
		return storage.DeleteRecord{Collection: id, ID: some(t, "record"), Expect: n}
	}
})

var positions = rapid.Custom(func(t *rapid.T) authz.Position {
	return authz.Position{Seq: instants.Draw(t, "seq"), Identity: some(t, "identity")}
})

var requirements = rapid.Custom(func(t *rapid.T) storage.Requirement {
	switch id, n := some(t, "id"), instants.Draw(t, "n"); rapid.IntRange(0, 2).Draw(t, "requirement") {
	case 0:
		return storage.RequireRole{ID: id}
	case 1:
		return storage.RequireRecord{Collection: id, ID: some(t, "record"), Version: n}
	default:
		return storage.RequireHead{Seq: n, Identity: some(t, "identity")}
	}
})

// alike treats a nil and an empty list of a row as one: rows have no third
// state there. Pointers, filters and JSON members are compared exactly.
var alike = cmp.Options{
	cmp.FilterPath(func(p cmp.Path) bool {
		for _, step := range p {
			if step.Type() != nil && step.Type().PkgPath() == "github.com/authzhost/authz/sdk/storage" &&
				(step.Type().Name() == "GrantFilter" || step.Type().Name() == "MetricFilter") {
				return false
			}
		}
		return true
	}, cmp.Transformer("list", func(list []string) []string { return append([]string{}, list...) })),
	cmp.Comparer(func(a, b authz.Expiry) bool { return a == b }),
	cmp.Transformer("stages", func(list []authz.Stage) string { b, _ := json.Marshal(list); return string(b) }),
}

// wire takes a message across.
func wire[M any, PM message[M]](t interface{ Fatal(...any) }, m PM) PM {
	b, err := marshal(m, maxAnswer)
	if err != nil {
		t.Fatal(err)
	}
	out := PM(new(M))
	if err := proto.Unmarshal(b, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func must[T any](t *rapid.T) func(T, error) T {
	return func(v T, err error) T {
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func same(t *rapid.T, got, want any) {
	if diff := cmp.Diff(want, got, alike); diff != "" {
		t.Fatal("(-sent +received)", diff)
	}
}

func TestEveryCommitCrossesUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := storage.Commit{
			ID: some(t, "id"), At: instants.Draw(t, "at"),
			Fences:   []storage.Fence{{Key: some(t, "key"), Fence: instants.Draw(t, "fence")}},
			Requires: rapid.SliceOfN(requirements, 1, 3).Draw(t, "requires"),
			Changes:  rapid.SliceOfN(changes, 1, 4).Draw(t, "changes"),
			Audit:    rapid.SliceOfN(auditEntries, 1, 2).Draw(t, "audit"),
			Events:   rapid.SliceOfN(events, 1, 2).Draw(t, "events"),
		}
		sent := must[*pluginv1.Commit](t)(encodeCommit(c))
		same(t, must[storage.Commit](t)(decodeCommit(wire(t, sent))), c)
	})
}

// Whatever a plugin says, and says next, is an access or an error.
func FuzzDecodeAccess(f *testing.F) {
	sent := &sentRoles{most: 2}
	for range 2 {
		a, err := encodeAccess(storage.Access{Grants: []authz.Grant{{ID: "g", Provenance: authz.AdminProvenance("u"), ExpiresAt: authz.ExpiresAt(1)}},
			Roles: []authz.Role{{ID: "r", Patterns: []string{"a"}, Requestable: &authz.Requestable{}}}}, sent, false)
		if err != nil {
			f.Fatal(err)
		}
		b, err := proto.Marshal(a)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("\x12\x02\x38\x05"))         // a grant of a provenance that is not there
	f.Add([]byte("\x22\x02\x08\x07\x50\x09")) // a role below what is taken for known
	f.Fuzz(func(t *testing.T, b []byte) {
		var m pluginv1.Access
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		known := &knownRoles{most: 2}
		for range 2 {
			got, err := decodeAccess(&m, known)
			if err == nil && (len(got.Grants) != len(m.GetGrants()) || len(got.Roles) != len(m.GetRoles())) {
				t.Fatalf("%d grants and %d roles of %d and %d", len(got.Grants), len(got.Roles), len(m.GetGrants()), len(m.GetRoles()))
			}
			if len(known.rows) > 2 {
				t.Fatalf("%d roles are kept", len(known.rows))
			}
		}
	})
}

func BenchmarkAccess(b *testing.B) {
	var access storage.Access
	for i := range 90 {
		access.Grants = append(access.Grants, authz.Grant{ID: fmt.Sprintf("grant-%07d", i), Subject: fmt.Sprintf("group:g%d", i%22),
			Pattern: "docs.files.read", Scope: fmt.Sprintf("docs.folder:f%d", i), Provenance: authz.AdminProvenance("bench"), CreatedAt: 1763000000000})
	}
	for i := range 20 {
		access.Roles = append(access.Roles, authz.Role{ID: fmt.Sprintf("r%d", i), Name: "role", Patterns: slices.Repeat([]string{"docs.files.read", "docs.files.edit"}, 5)})
		access.Closure = append(access.Closure, fmt.Sprintf("group:g%d", i))
	}
	sent, known := &sentRoles{most: 100}, &knownRoles{most: 100}
	for _, first := range []bool{true, false} {
		whole := map[bool]string{true: "whole roles", false: "known roles"}[first]
		a, err := encodeAccess(access, sent, first)
		if err != nil {
			b.Fatal(err)
		}
		message, err := marshal(a, maxAnswer)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("encode "+whole, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m, err := encodeAccess(access, sent, first)
				if err == nil {
					_, err = marshal(m, maxAnswer)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("decode "+whole, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var m pluginv1.Access
				err := proto.Unmarshal(message, &m)
				if err == nil {
					_, err = decodeAccess(&m, known)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(message)), "bytes")
		})
	}
}

func TestEveryAnswerCrossesUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		access := storage.Access{
			User: optional(t, "user", users), Grants: rapid.SliceOfN(grants, 1, 2).Draw(t, "grants"),
			Revokes: rapid.SliceOfN(revokes, 1, 2).Draw(t, "revokes"), Roles: rapid.SliceOfN(roles, 1, 2).Draw(t, "roles"),
			Head: positions.Draw(t, "head"), Closure: texts.Draw(t, "closure"), ManagerChain: texts.Draw(t, "chain"),
		}
		sent := must[*pluginv1.Access](t)(encodeAccess(access, &sentRoles{most: 3}, false))
		same(t, must[storage.Access](t)(decodeAccess(wire(t, sent), &knownRoles{most: 3})), access)

		result := storage.CommitResult{Replayed: rapid.Bool().Draw(t, "replayed"), UpTo: positions.Draw(t, "upTo"), Results: []storage.ChangeResult{
			{}, {Grant: optional(t, "g", grants), Revoke: optional(t, "r", revokes), Request: optional(t, "q", requests), Version: instants.Draw(t, "v")}}}
		same(t, must[storage.CommitResult](t)(decodeResult(wire(t, must[*pluginv1.CommitResult](t)(encodeResult(result))))), result)

		page := storage.EventPage{UpTo: positions.Draw(t, "upTo"), Events: rapid.SliceOfN(events, 1, 3).Draw(t, "events"), Gap: rapid.Bool().Draw(t, "gap"),
			Reset: rapid.Bool().Draw(t, "reset")}
		same(t, decodeEventPage(wire(t, encodeEventPage(page))), page)

		parents := rapid.MapOfN(text, texts, 0, 3).Draw(t, "parents")
		got := decodeScopeParents(wire(t, encodeScopeParents(parents)))
		same(t, got, parents)
		for scope, list := range got {
			if list == nil {
				t.Fatalf("the recorded root %q came back as a nil list", scope)
			}
		}

		bucket := storage.MetricBucket{Bucket: instants.Draw(t, "b"), Dimension: some(t, "d"), Subject: some(t, "s"), Metric: some(t, "m"), Count: instants.Draw(t, "c")}
		same(t, decodeBucket(wire(t, encodeBucket(bucket))), bucket)
		version := storage.CatalogVersion{Version: instants.Draw(t, "v"), Document: documents.Draw(t, "d"), PublishedAt: instants.Draw(t, "at")}
		same(t, decodeCatalogVersion(wire(t, encodeCatalogVersion(version))), version)
		failure := &storage.Error{Code: storage.Code(some(t, "code")), Message: some(t, "message"), Outcome: authz.Outcome(some(t, "o")), Grants: 7, Version: 9}
		same(t, decodeError(wire(t, encodeError(failure))), failure)
	})
}

// Absent, empty and present members of filters mean three different things.
func TestEveryFilterCrossesUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		page := storage.Page{After: some(t, "after"), Limit: rapid.IntRange(-1, 3).Draw(t, "limit")}
		g := storage.GrantFilter{Subject: optional(t, "s", text), Subjects: texts.Draw(t, "ss"), Scope: optional(t, "sc", text), RoleID: optional(t, "r", text)}
		q := wire(t, encodeGrantQuery(1, g, page))
		same(t, decodeGrantFilter(q), g)
		same(t, decodePage(q.GetPage()), page)

		search := authz.GrantSearch{Subject: optional(t, "fs", text), Scope: optional(t, "fsc", text), RoleID: optional(t, "fr", text), Pattern: optional(t, "fp", text),
			Actor: optional(t, "fa", text), Instances: rapid.Bool().Draw(t, "instances"), Expires: optional(t, "expires", rapid.Bool()),
			ExpiresFrom: optional(t, "ef", instants), ExpiresTo: optional(t, "et", instants), CreatedFrom: optional(t, "cf", instants), CreatedTo: optional(t, "ct", instants),
			Order: authz.GrantOrder(some(t, "order"))}
		place := storage.FoundPage{After: authz.GrantPlace{At: instants.Draw(t, "place"), ID: some(t, "placed")}, Limit: page.Limit}
		gotSearch, gotPlace := decodeGrantSearch(wire(t, encodeGrantSearch(1, search, place)))
		same(t, gotSearch, search)
		same(t, gotPlace, place)

		state := optional(t, "state", text)
		r := storage.RequestFilter{State: (*authz.RequestState)(state), RequesterUserID: optional(t, "u", text), RoleID: optional(t, "r", text), Scope: optional(t, "s", text)}
		rp := storage.RequestPage{AfterCreatedAt: instants.Draw(t, "at"), AfterID: some(t, "id"), Limit: 3}
		gotFilter, gotPage := decodeRequestQuery(wire(t, encodeRequestQuery(1, r, rp)))
		same(t, gotFilter, r)
		same(t, gotPage, rp)

		a := storage.AuditFilter{Target: optional(t, "t", text), Actor: optional(t, "a", text), Action: optional(t, "ac", text),
			From: optional(t, "from", instants), To: optional(t, "to", instants), Limit: optional(t, "limit", instants), DetailLimit: optional(t, "detail limit", instants), Subject: optional(t, "subject", text)}
		if rapid.Bool().Draw(t, "cursor") {
			a.Cursor = &authz.AuditCursor{At: instants.Draw(t, "at"), ID: some(t, "id")}
		}
		same(t, decodeAuditQuery(wire(t, encodeAuditQuery(1, a))), a)

		m := storage.MetricFilter{Dimension: some(t, "d"), Subjects: texts.Draw(t, "ms"), Since: optional(t, "since", instants), Until: optional(t, "until", instants)}
		same(t, decodeMetricQuery(wire(t, encodeMetricQuery(1, m))), m)
	})
}

func TestTextThatIsNotUTF8IsTheCallersMistake(t *testing.T) {
	const broken = "a\xffb"
	cases := map[string]storage.Change{
		"in a plain member": storage.InsertGrant{Grant: authz.Grant{ID: broken}},
		"in a stage":        storage.InsertRequest{Request: authz.Request{Stages: []authz.Stage{{Predicate: &authz.Predicate{GroupID: broken}}}}},
		"in an answer":      storage.UpdateRequest{Request: authz.Request{Justification: map[string]string{"why": broken}}},
		"in a question":     storage.UpdateRequest{Request: authz.Request{Justification: map[string]string{broken: "so"}}},
		"in a decision":     storage.UpdateRequest{Request: authz.Request{Decisions: []authz.Decision{{Note: broken}}}},
		"in a prompt":       storage.UpsertRole{Role: authz.Role{Requestable: &authz.Requestable{Prompts: []authz.Prompt{{Options: []string{broken}}}}}},
		"in a list":         storage.UpsertGroup{Group: authz.Group{Parents: []string{broken}}},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			m, err := encodeCommit(storage.Commit{Changes: []storage.Change{change}})
			if err == nil {
				_, err = marshal(m, maxRequest)
			}
			if storage.CodeOf(err) != storage.CodeValidation {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWhatANewerHostSaysIsRefusedNotGuessed(t *testing.T) {
	for name, c := range map[string]*pluginv1.Commit{
		"a change":                  {Changes: []*pluginv1.Change{{}}},
		"a requirement":             {Requires: []*pluginv1.Requirement{{}}},
		"an update without its row": {Changes: []*pluginv1.Change{{Of: &pluginv1.Change_UpdateRequest{UpdateRequest: &pluginv1.UpdateRequest{}}}}},
		"a put without its record":  {Changes: []*pluginv1.Change{{Of: &pluginv1.Change_PutRecord{PutRecord: &pluginv1.PutRecord{}}}}},
	} {
		if _, err := decodeCommit(c); storage.CodeOf(err) != storage.CodeUnsupported {
			t.Errorf("%s gave %v", name, err)
		}
	}
	if _, err := encodeCommit(storage.Commit{Changes: []storage.Change{nil}}); storage.CodeOf(err) != storage.CodeValidation {
		t.Errorf("no change at all gave %v", err)
	}
	if _, err := encodeCommit(storage.Commit{Requires: []storage.Requirement{nil}}); storage.CodeOf(err) != storage.CodeValidation {
		t.Errorf("no requirement at all gave %v", err)
	}
}
