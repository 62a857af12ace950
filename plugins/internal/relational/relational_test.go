package relational_test

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

var sameRows = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.AllowUnexported(authz.Expiry{}),
	cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a) > 0 && len(b) > 0 },
		cmp.Comparer(func(a, b json.RawMessage) bool { return string(a) == string(b) })),
}

// text is any string that the seam lets through.
var text = rapid.StringMatching(`[a-z"'%_\\ é\x{1F600}\t$]{0,8}`)

var key = rapid.StringMatching(`[a-z"'é\\]{1,6}`)

var instant = rapid.Int64Range(-authz.MaxInstant, authz.MaxInstant)

var document = rapid.Custom(func(t *rapid.T) json.RawMessage {
	b, err := json.Marshal(rapid.MapOf(text, rapid.SliceOfN(text, 0, 3)).Draw(t, "document"))
	if err != nil {
		t.Fatal(err)
	}
	return b
})

// made fills every member of an entity that is not an interface of its own.
func made[T any](fill func(*rapid.T, *T)) *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T {
		var row T
		fill(t, &row)
		return row
	})
}

func provenance(t *rapid.T) authz.Provenance {
	return authz.Provenance{Kind: authz.ProvenanceAdmin, ActorUserID: text.Draw(t, "actor"), Note: text.Draw(t, "note"), Via: text.Draw(t, "via")}
}

func expiry(t *rapid.T) authz.Expiry {
	if rapid.Bool().Draw(t, "expires") {
		return authz.ExpiresAt(instant.Draw(t, "expiresAt"))
	}
	return authz.Expiry{}
}

func stages(t *rapid.T) []authz.Stage {
	return rapid.SliceOfN(made(func(t *rapid.T, s *authz.Stage) {
		s.Kind, s.RoleID = text.Draw(t, "kind"), text.Draw(t, "role")
		if rapid.Bool().Draw(t, "predicate") {
			s.Predicate = &authz.Predicate{Type: authz.PredicateInOrg, OrgID: text.Draw(t, "org")}
			layers := rapid.Int64Range(0, 5).Draw(t, "layers")
			s.Layers = &layers
		}
	}), 0, 3).Draw(t, "stages")
}

var (
	anyGrant = made(func(t *rapid.T, g *authz.Grant) {
		*g = authz.Grant{ID: key.Draw(t, "id"), Subject: text.Draw(t, "subject"), RoleID: text.Draw(t, "role"), Pattern: text.Draw(t, "pattern"),
			Scope: text.Draw(t, "scope"), ExpiresAt: expiry(t), Provenance: provenance(t), CreatedAt: instant.Draw(t, "createdAt")}
	})
	anyRevoke = made(func(t *rapid.T, r *authz.Revoke) {
		*r = authz.Revoke{ID: key.Draw(t, "id"), UserID: text.Draw(t, "user"), Pattern: text.Draw(t, "pattern"), Scope: text.Draw(t, "scope"),
			Provenance: provenance(t), CreatedAt: instant.Draw(t, "createdAt")}
	})
	anyRole = made(func(t *rapid.T, r *authz.Role) {
		*r = authz.Role{ID: key.Draw(t, "id"), Name: text.Draw(t, "name"), Description: text.Draw(t, "description"), Patterns: rapid.SliceOfN(text, 0, 3).Draw(t, "patterns")}
		if rapid.Bool().Draw(t, "requestable") {
			required := rapid.Bool().Draw(t, "required")
			r.Requestable = &authz.Requestable{MaxDurationMs: 5, RequireExpiry: required, Stages: stages(t),
				Prompts: []authz.Prompt{{ID: text.Draw(t, "prompt"), Options: rapid.SliceOfN(text, 0, 2).Draw(t, "options"), Required: &required}}}
		}
	})
	anyRequest = made(func(t *rapid.T, r *authz.Request) {
		*r = authz.Request{ID: key.Draw(t, "id"), RequesterUserID: text.Draw(t, "user"), RoleID: text.Draw(t, "role"), Pattern: text.Draw(t, "pattern"),
			Scope: text.Draw(t, "scope"), ProposedExpiresAt: expiry(t), Justification: rapid.MapOfN(text, text, 0, 3).Draw(t, "justification"),
			State: authz.RequestState(text.Draw(t, "state")), StageIndex: rapid.Int64Range(0, 9).Draw(t, "stage"), Stages: stages(t), CreatedAt: instant.Draw(t, "createdAt"),
			Decisions: []authz.Decision{{DecidedBy: text.Draw(t, "by"), At: instant.Draw(t, "at"), Note: text.Draw(t, "note")}}}
		if rapid.Bool().Draw(t, "decided") {
			at := instant.Draw(t, "decidedAt")
			r.DecidedAt = &at
		}
	})
	anyAudit = made(func(t *rapid.T, e *authz.AuditEntry) {
		*e = authz.AuditEntry{ID: key.Draw(t, "id"), At: instant.Draw(t, "at"), Actor: text.Draw(t, "actor"), Action: text.Draw(t, "action"),
			Target: text.Draw(t, "target"), PrevHash: text.Draw(t, "prevHash"), Hash: text.Draw(t, "hash")}
		if rapid.Bool().Draw(t, "detail?") {
			e.Detail = document.Draw(t, "detail")
		}
	})
	anyRecord = made(func(t *rapid.T, r *storage.Record) {
		*r = storage.Record{Collection: key.Draw(t, "collection"), ID: key.Draw(t, "id"), Version: instant.Draw(t, "version"), Data: document.Draw(t, "data"),
			Keys: [4]string{text.Draw(t, "k1"), text.Draw(t, "k2"), text.Draw(t, "k3"), text.Draw(t, "k4")}, UpdatedAt: instant.Draw(t, "updatedAt")}
	})
)

func TestEveryEntityComesBackFromItsColumns(t *testing.T) {
	t.Run("grants", func(t *testing.T) { comesBack(t, relational.Grants, anyGrant) })
	t.Run("revokes", func(t *testing.T) { comesBack(t, relational.Revokes, anyRevoke) })
	t.Run("roles", func(t *testing.T) { comesBack(t, relational.Roles, anyRole) })
	t.Run("requests", func(t *testing.T) { comesBack(t, relational.Requests, anyRequest) })
	t.Run("audit", func(t *testing.T) { comesBack(t, relational.Audit, anyAudit) })
	t.Run("records", func(t *testing.T) { comesBack(t, relational.Records, anyRecord) })
	t.Run("groups", func(t *testing.T) {
		comesBack(t, relational.Groups, made(func(t *rapid.T, g *authz.Group) { // without its edges
			*g = authz.Group{ID: key.Draw(t, "id"), Name: text.Draw(t, "name"), Description: text.Draw(t, "description"), Virtual: rapid.Bool().Draw(t, "virtual")}
		}))
	})
	t.Run("users", func(t *testing.T) {
		comesBack(t, relational.Users, made(func(t *rapid.T, u *authz.User) {
			*u = authz.User{UserID: key.Draw(t, "id"), Active: rapid.Bool().Draw(t, "active"), OrgIDs: rapid.SliceOfN(text, 0, 3).Draw(t, "orgs"), ManagerUserID: text.Draw(t, "manager")}
		}))
	})
}

func comesBack[T any](t *testing.T, e relational.Entity[T], rows *rapid.Generator[T]) {
	rapid.Check(t, func(t *rapid.T) {
		row := rows.Draw(t, "row")
		args, err := e.Args(row)
		if err != nil {
			t.Fatal(err)
		}
		if len(args) != len(e.Columns) {
			t.Fatalf("%d arguments for %d columns", len(args), len(e.Columns))
		}
		back, err := e.Scan(scanOf(args))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row, back, sameRows); diff != "" {
			t.Fatalf("row (-written +read):\n%s", diff)
		}
		checkColumns(t, e.Table, args)
	})
}

// checkColumns holds the arguments against the table: NULL only where it may
// stand, JSON where the column says so.
func checkColumns(t *rapid.T, name string, args []any) {
	for _, table := range relational.Tables {
		if table.Name != name {
			continue
		}
		for i, c := range table.Columns {
			value, err := driver.DefaultParameterConverter.ConvertValue(args[i])
			if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			switch value := value.(type) {
			case nil:
				if !c.Null {
					t.Fatalf("column %s is NULL", c.Name)
				}
			case string:
				if c.Type == relational.JSON && !json.Valid([]byte(value)) {
					t.Fatalf("column %s holds %q", c.Name, value)
				}
			}
		}
	}
}

// scanOf reads arguments back as a database would give them.
func scanOf(args []any) relational.Scan {
	return func(dest ...any) error {
		if len(dest) != len(args) {
			return fmt.Errorf("%d destinations for %d columns", len(dest), len(args))
		}
		for i, d := range dest {
			value, err := driver.DefaultParameterConverter.ConvertValue(args[i])
			if err != nil {
				return err
			}
			if err := assign(reflect.ValueOf(d).Elem(), value); err != nil {
				return fmt.Errorf("column %d: %w", i, err)
			}
		}
		return nil
	}
}

func assign(dest reflect.Value, value any) error {
	if value == nil {
		if k := dest.Kind(); k != reflect.Pointer && k != reflect.Slice {
			return errors.New("NULL into " + dest.Type().String())
		}
		dest.SetZero()
		return nil
	}
	if dest.Kind() == reflect.Pointer {
		dest.Set(reflect.New(dest.Type().Elem()))
		dest = dest.Elem()
	}
	dest.Set(reflect.ValueOf(value).Convert(dest.Type()))
	return nil
}

func TestEventsComeBackFromTheirColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := authz.Event{Type: authz.EventType(text.Draw(t, "type")), UserID: text.Draw(t, "user"), Subject: text.Draw(t, "subject"), RoleID: text.Draw(t, "role"), Scope: text.Draw(t, "scope")}
		payload, err := relational.EventPayload(e)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := relational.EventOf(string(e.Type), []byte(payload)); err != nil || back != e {
			t.Fatalf("%+v came back as %+v, %v", e, back, err)
		}
	})
}

func TestResultsComeBackFromTheirColumn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := storage.CommitResult{Replayed: true, UpTo: authz.Position{
			Seq: rapid.Int64Range(0, 9).Draw(t, "upTo"), Identity: rapid.SampledFrom([]string{"", "i", `"`}).Draw(t, "identity")}}
		for range rapid.IntRange(0, 6).Draw(t, "changes") {
			var c storage.ChangeResult
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				g := anyGrant.Draw(t, "grant")
				c.Grant = &g
			case 1:
				v := anyRevoke.Draw(t, "revoke")
				c.Revoke = &v
			case 2:
				q := anyRequest.Draw(t, "request")
				c.Request = &q
			case 3:
				c.Version = rapid.Int64Range(1, 9).Draw(t, "version")
			}
			r.Results = append(r.Results, c)
		}
		column, err := relational.EncodeResult(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := relational.DecodeResult([]byte(column))
		r.Replayed = false
		if diff := cmp.Diff(r, back, sameRows); err != nil || diff != "" {
			t.Fatalf("%v, result (-written +read):\n%s", err, diff)
		}
		if end := fmt.Sprintf(`"upTo":%d}`, r.UpTo.Seq); r.UpTo.Identity == "" && !strings.HasSuffix(column, end) {
			t.Fatalf("a statement cannot put the last number into %s", column)
		}
	})
	if empty, err := relational.EncodeResult(storage.CommitResult{Results: make([]storage.ChangeResult, 10_000)}); err != nil || len(empty) > 100 {
		t.Errorf("10,000 changes that return nothing take %d bytes, %v", len(empty), err)
	}
	for _, at := range []string{`{"at":1}`, `{"at":-1}`, `{"change":1}`} {
		var own *storage.Error
		if _, err := relational.DecodeResult([]byte(`{"changes":1,"results":[` + at + `]}`)); err == nil || errors.As(err, &own) {
			t.Errorf("%s beyond the changes: %v", at, err)
		}
	}
}

func TestResultsOfEarlierBuildsAreRead(t *testing.T) {
	for _, column := range []string{
		`{"changes":3,"upTo":7,"results":[{"at":1,"version":4}]}`,   // SQLite
		`{"count":3,"results":[{"change":1,"version":4}],"upTo":7}`, // PostgreSQL
	} {
		want := storage.CommitResult{UpTo: authz.Position{Seq: 7}, Results: []storage.ChangeResult{{}, {Version: 4}, {}}}
		if got, err := relational.DecodeResult([]byte(column)); err != nil || !cmp.Equal(want, got, sameRows) {
			t.Errorf("%s was read as %+v, %v", column, got, err)
		}
	}
}

func TestTablesAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, table := range relational.Tables {
		if seen[table.Name] {
			t.Errorf("table %s stands twice", table.Name)
		}
		seen[table.Name] = true
		columns := map[string]relational.Column{}
		for _, c := range table.Columns {
			if _, twice := columns[c.Name]; twice || c.Name == "app" {
				t.Errorf("column %s of %s", c.Name, table.Name)
			}
			columns[c.Name] = c
		}
		for _, k := range table.Key {
			if c, found := columns[k]; !found || c.Null {
				t.Errorf("key column %s of %s", k, table.Name)
			}
		}
		for _, index := range table.Indexes {
			for _, c := range index {
				_, found := columns[c]
				if _, computed := relational.Computed[c]; found == computed {
					t.Errorf("index on %s of %s", c, table.Name)
				}
			}
		}
	}
}
