package relational

import (
	stdjson "encoding/json"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Scan reads the columns of one row: the method of that name of *sql.Rows, *sql.Row
// and pgx.Rows.
type Scan func(dest ...any) error

// Entity places the rows of one table: Args in the order of Columns, app left out.
// Optional members are NULL when absent, payloads are JSON text.
type Entity[T any] struct {
	Table   string
	Columns []string
	Args    func(T) ([]any, error)
	Scan    func(Scan) (T, error)
}

// Grants are the rows of GrantTable.
var Grants = Entity[authz.Grant]{
	Table:   GrantTable,
	Columns: columnsOf(GrantTable),
	Args: func(g authz.Grant) ([]any, error) {
		provenance, err := encode(g.Provenance)
		return []any{g.ID, g.Subject, optional(g.RoleID), optional(g.Pattern), g.Scope, expiry(g.ExpiresAt), provenance, g.CreatedAt}, err
	},
	Scan: func(scan Scan) (g authz.Grant, err error) {
		var role, pattern *string
		var expires *int64
		var provenance []byte
		if err = scan(&g.ID, &g.Subject, &role, &pattern, &g.Scope, &expires, &provenance, &g.CreatedAt); err != nil {
			return g, err
		}
		g.RoleID, g.Pattern, g.ExpiresAt = textOf(role), textOf(pattern), expiryOf(expires)
		g.Provenance, err = provenances.decode(provenance)
		return g, err
	},
}

// Revokes are the rows of RevokeTable.
var Revokes = Entity[authz.Revoke]{
	Table:   RevokeTable,
	Columns: columnsOf(RevokeTable),
	Args: func(r authz.Revoke) ([]any, error) {
		provenance, err := encode(r.Provenance)
		return []any{r.ID, r.UserID, r.Pattern, r.Scope, provenance, r.CreatedAt}, err
	},
	Scan: func(scan Scan) (r authz.Revoke, err error) {
		var provenance []byte
		if err = scan(&r.ID, &r.UserID, &r.Pattern, &r.Scope, &provenance, &r.CreatedAt); err != nil {
			return r, err
		}
		r.Provenance, err = provenances.decode(provenance)
		return r, err
	},
}

// Roles are the rows of RoleTable.
var Roles = Entity[authz.Role]{
	Table:   RoleTable,
	Columns: columnsOf(RoleTable),
	Args: func(r authz.Role) ([]any, error) {
		patterns, err := encodeList(r.Patterns)
		if err != nil || r.Requestable == nil {
			return []any{r.ID, r.Name, optional(r.Description), patterns, nil}, err
		}
		requestable, err := encode(r.Requestable)
		return []any{r.ID, r.Name, optional(r.Description), patterns, requestable}, err
	},
	Scan: func(scan Scan) (r authz.Role, err error) {
		var description *string
		var patterns, requestable []byte
		if err = scan(&r.ID, &r.Name, &description, &patterns, &requestable); err != nil {
			return r, err
		}
		r.Description = textOf(description)
		if requestable != nil {
			r.Requestable = new(authz.Requestable)
			if err := decode(requestable, r.Requestable); err != nil {
				return r, err
			}
		}
		r.Patterns, err = DecodeStrings(patterns)
		return r, err
	},
}

// Groups are the rows of GroupTable; the parents are rows of GroupParentTable, in
// the order of their ordinal.
var Groups = Entity[authz.Group]{
	Table:   GroupTable,
	Columns: columnsOf(GroupTable),
	Args: func(g authz.Group) ([]any, error) {
		return []any{g.ID, g.Name, optional(g.Description), g.Virtual}, nil
	},
	Scan: func(scan Scan) (g authz.Group, err error) {
		var description *string
		err = scan(&g.ID, &g.Name, &description, &g.Virtual)
		g.Description = textOf(description)
		return g, err
	},
}

// Users are the rows of UserTable; the groups are rows of MembershipTable, in the
// order of their ordinal.
var Users = Entity[authz.User]{
	Table:   UserTable,
	Columns: columnsOf(UserTable),
	Args: func(u authz.User) ([]any, error) {
		orgs, err := encodeList(u.OrgIDs)
		return []any{u.UserID, u.Active, orgs, optional(u.ManagerUserID)}, err
	},
	Scan: func(scan Scan) (u authz.User, err error) {
		var orgs []byte
		var manager *string
		if err = scan(&u.UserID, &u.Active, &orgs, &manager); err != nil {
			return u, err
		}
		u.ManagerUserID = textOf(manager)
		u.OrgIDs, err = DecodeStrings(orgs)
		return u, err
	},
}

// Requests are the rows of RequestTable.
var Requests = Entity[authz.Request]{
	Table:   RequestTable,
	Columns: columnsOf(RequestTable),
	Args: func(r authz.Request) ([]any, error) {
		answers := r.Justification
		if answers == nil {
			answers = map[string]string{}
		}
		justification, err := encode(answers)
		if err != nil {
			return nil, err
		}
		stages, err := encodeList(r.Stages)
		if err != nil {
			return nil, err
		}
		decisions, err := encodeList(r.Decisions)
		return []any{r.ID, r.RequesterUserID, optional(r.RoleID), optional(r.Pattern), r.Scope, expiry(r.ProposedExpiresAt), justification,
			string(r.State), r.StageIndex, stages, decisions, r.CreatedAt, r.DecidedAt}, err
	},
	Scan: func(scan Scan) (r authz.Request, err error) {
		var role, pattern *string
		var proposed *int64
		var justification, stages, decisions []byte
		if err = scan(&r.ID, &r.RequesterUserID, &role, &pattern, &r.Scope, &proposed, &justification,
			&r.State, &r.StageIndex, &stages, &decisions, &r.CreatedAt, &r.DecidedAt); err != nil {
			return r, err
		}
		r.RoleID, r.Pattern, r.ProposedExpiresAt = textOf(role), textOf(pattern), expiryOf(proposed)
		if err := decode(justification, &r.Justification); err != nil {
			return r, err
		}
		if err := decode(stages, &r.Stages); err != nil {
			return r, err
		}
		return r, decode(decisions, &r.Decisions)
	},
}

// Audit are the rows of AuditTable.
var Audit = Entity[authz.AuditEntry]{
	Table:   AuditTable,
	Columns: columnsOf(AuditTable),
	Args: func(e authz.AuditEntry) ([]any, error) {
		var length *int64
		if e.Detail != nil {
			length = new(int64(len(e.Detail)))
		}
		return []any{e.ID, e.At, e.Actor, e.Action, e.Target, payload(e.Detail), optional(e.PrevHash), optional(e.Hash), length}, nil
	},
	Scan: func(scan Scan) (e authz.AuditEntry, err error) {
		var detail []byte
		var prevHash, hash *string
		var length *int64
		err = scan(&e.ID, &e.At, &e.Actor, &e.Action, &e.Target, &detail, &prevHash, &hash, &length)
		e.Detail, e.PrevHash, e.Hash = detail, textOf(prevHash), textOf(hash)
		if detail == nil && length != nil {
			e.DetailBytes = *length
		}
		return e, err
	},
}

// Records are the rows of RecordTable.
var Records = Entity[storage.Record]{
	Table:   RecordTable,
	Columns: columnsOf(RecordTable),
	Args: func(r storage.Record) ([]any, error) {
		return []any{r.Collection, r.ID, r.Version, payload(r.Data), optional(r.Keys[0]), optional(r.Keys[1]), optional(r.Keys[2]),
			optional(r.Keys[3]), r.UpdatedAt}, nil
	},
	Scan: func(scan Scan) (r storage.Record, err error) {
		var keys [4]*string
		var data []byte
		err = scan(&r.Collection, &r.ID, &r.Version, &data, &keys[0], &keys[1], &keys[2], &keys[3], &r.UpdatedAt)
		r.Data = data
		for i := range keys {
			r.Keys[i] = textOf(keys[i])
		}
		return r, err
	},
}

// EventPayload is the payload column of an event: its members but the type.
func EventPayload(e authz.Event) (string, error) {
	b, err := authz.Marshal(eventPayload{e.UserID, e.Subject, e.RoleID, e.Scope})
	return string(b), err
}

// EventOf is the event of a type and a payload column.
func EventOf(eventType string, payload []byte) (authz.Event, error) {
	var p eventPayload
	err := decode(payload, &p)
	return authz.Event{Type: authz.EventType(eventType), UserID: p.UserID, Subject: p.Subject, RoleID: p.RoleID, Scope: p.Scope}, err
}

type eventPayload struct {
	UserID  string `json:"userId,omitempty"`
	Subject string `json:"subject,omitempty"`
	RoleID  string `json:"roleId,omitempty"`
	Scope   string `json:"scope,omitempty"`
}

// EncodeStrings is a column that holds a list of strings.
func EncodeStrings(list []string) (string, error) { return encodeList(list) }

func columnsOf(table string) []string {
	for _, t := range Tables {
		if t.Name != table {
			continue
		}
		names := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			names[i] = c.Name
		}
		return names
	}
	panic("relational: no table " + table)
}

func encode(v any) (string, error) {
	b, err := authz.Marshal(v)
	return string(b), err
}

func encodeList[T any](list []T) (string, error) {
	if list == nil {
		return "[]", nil
	}
	return encode(list)
}

// payload is a JSON document as it was given; an empty one is absent.
func payload(raw stdjson.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	return string(raw)
}

func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func expiry(e authz.Expiry) any {
	if at, ok := e.At(); ok {
		return at
	}
	return nil
}

func expiryOf(at *int64) authz.Expiry {
	if at == nil {
		return authz.Expiry{}
	}
	return authz.ExpiresAt(*at)
}
