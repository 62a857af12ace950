package mongo

import (
	"encoding/json"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// entity places the rows of one collection in documents: to gives the members but
// _id, from reads a document. Payloads are JSON text, so that their members never
// become names of fields; optional members are left out when absent.
type entity[V any] struct {
	in   layout.Name
	what string
	key  func(V) string
	to   func(V) (bson.D, error)
	from func(layout.Row) (V, error)
}

// all reads documents, in their order.
func (e entity[V]) all(rows []layout.Row) ([]V, error) {
	out := make([]V, len(rows))
	for i, row := range rows {
		var err error
		if out[i], err = e.from(row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// memberNames are what a stone no longer has.
var memberNames = map[layout.Name][]string{
	layout.Grants:  {"subject", "roleId", "pattern", "scope", "expiresAt", "provenance", "createdAt"},
	layout.Revokes: {"userId", "pattern", "scope", "provenance", "createdAt"},
	layout.Roles:   {"name", "description", "patterns", "requestable"},
	layout.Groups:  {"name", "description", "virtual", "parents"},
	layout.Users:   {"active", "groupIds", "orgIds", "managerUserId"},
	layout.Requests: {"requesterUserId", "roleId", "pattern", "scope", "proposedExpiresAt", "justification", "state", "stageIndex", "stages",
		"decisions", "createdAt", "decidedAt"},
	layout.Scopes:  {"parents"},
	layout.Records: {"collection", "id", "version", "data", "key1", "key2", "key3", "key4", "updatedAt"},
}

var grants = entity[authz.Grant]{
	in: layout.Grants, what: "grant",
	key: func(g authz.Grant) string { return g.ID },
	to: func(g authz.Grant) (bson.D, error) {
		m := members{{Key: "subject", Value: g.Subject}}
		m.text("roleId", g.RoleID)
		m.text("pattern", g.Pattern)
		m.put("scope", g.Scope)
		m.expiry("expiresAt", g.ExpiresAt)
		err := m.json("provenance", g.Provenance)
		m.put("createdAt", g.CreatedAt)
		return bson.D(m), err
	},
	from: func(row layout.Row) (authz.Grant, error) {
		var d struct {
			Subject    string `bson:"subject"`
			RoleID     string `bson:"roleId"`
			Pattern    string `bson:"pattern"`
			Scope      string `bson:"scope"`
			ExpiresAt  *int64 `bson:"expiresAt"`
			Provenance string `bson:"provenance"`
			CreatedAt  int64  `bson:"createdAt"`
		}
		if err := row.Decode(&d); err != nil {
			return authz.Grant{}, err
		}
		g := authz.Grant{ID: row.Text(), Subject: d.Subject, RoleID: d.RoleID, Pattern: d.Pattern, Scope: d.Scope,
			ExpiresAt: expiryOf(d.ExpiresAt), CreatedAt: d.CreatedAt}
		return g, payload(d.Provenance, &g.Provenance)
	},
}

var revokes = entity[authz.Revoke]{
	in: layout.Revokes, what: "revoke",
	key: func(r authz.Revoke) string { return r.ID },
	to: func(r authz.Revoke) (bson.D, error) {
		m := members{{Key: "userId", Value: r.UserID}, {Key: "pattern", Value: r.Pattern}, {Key: "scope", Value: r.Scope}}
		err := m.json("provenance", r.Provenance)
		m.put("createdAt", r.CreatedAt)
		return bson.D(m), err
	},
	from: func(row layout.Row) (authz.Revoke, error) {
		var d struct {
			UserID     string `bson:"userId"`
			Pattern    string `bson:"pattern"`
			Scope      string `bson:"scope"`
			Provenance string `bson:"provenance"`
			CreatedAt  int64  `bson:"createdAt"`
		}
		if err := row.Decode(&d); err != nil {
			return authz.Revoke{}, err
		}
		r := authz.Revoke{ID: row.Text(), UserID: d.UserID, Pattern: d.Pattern, Scope: d.Scope, CreatedAt: d.CreatedAt}
		return r, payload(d.Provenance, &r.Provenance)
	},
}

var roles = entity[authz.Role]{
	in: layout.Roles, what: "role",
	key: func(r authz.Role) string { return r.ID },
	to: func(r authz.Role) (bson.D, error) {
		m := members{{Key: "name", Value: r.Name}}
		m.text("description", r.Description)
		if err := m.json("patterns", nonNil(r.Patterns)); err != nil || r.Requestable == nil {
			return bson.D(m), err
		}
		err := m.json("requestable", r.Requestable)
		return bson.D(m), err
	},
	from: func(row layout.Row) (authz.Role, error) {
		var d struct {
			Name        string  `bson:"name"`
			Description string  `bson:"description"`
			Patterns    string  `bson:"patterns"`
			Requestable *string `bson:"requestable"`
		}
		if err := row.Decode(&d); err != nil {
			return authz.Role{}, err
		}
		r := authz.Role{ID: row.Text(), Name: d.Name, Description: d.Description}
		if d.Requestable != nil {
			r.Requestable = new(authz.Requestable)
			if err := payload(*d.Requestable, r.Requestable); err != nil {
				return r, err
			}
		}
		return r, payload(d.Patterns, &r.Patterns)
	},
}

var groups = entity[authz.Group]{
	in: layout.Groups, what: "group",
	key: func(g authz.Group) string { return g.ID },
	to: func(g authz.Group) (bson.D, error) {
		m := members{{Key: "name", Value: g.Name}}
		m.text("description", g.Description)
		if g.Virtual {
			m.put("virtual", true)
		}
		m.put("parents", nonNil(g.Parents))
		return bson.D(m), nil
	},
	from: func(row layout.Row) (authz.Group, error) {
		var d struct {
			Name        string   `bson:"name"`
			Description string   `bson:"description"`
			Virtual     bool     `bson:"virtual"`
			Parents     []string `bson:"parents"`
		}
		err := row.Decode(&d)
		return authz.Group{ID: row.Text(), Name: d.Name, Description: d.Description, Virtual: d.Virtual, Parents: nonNil(d.Parents)}, err
	},
}

var users = entity[authz.User]{
	in: layout.Users, what: "user",
	key: func(u authz.User) string { return u.UserID },
	to: func(u authz.User) (bson.D, error) {
		m := members{{Key: "active", Value: u.Active}, {Key: "groupIds", Value: nonNil(u.GroupIDs)}, {Key: "orgIds", Value: nonNil(u.OrgIDs)}}
		if u.ManagerUserID == "" {
			m.put("managerUserId", nil)
		} else {
			m.put("managerUserId", u.ManagerUserID)
		}
		return bson.D(m), nil
	},
	from: func(row layout.Row) (authz.User, error) {
		var d struct {
			Active        bool     `bson:"active"`
			GroupIDs      []string `bson:"groupIds"`
			OrgIDs        []string `bson:"orgIds"`
			ManagerUserID *string  `bson:"managerUserId"`
		}
		err := row.Decode(&d)
		u := authz.User{UserID: row.Text(), Active: d.Active, GroupIDs: nonNil(d.GroupIDs), OrgIDs: nonNil(d.OrgIDs)}
		if d.ManagerUserID != nil {
			u.ManagerUserID = *d.ManagerUserID
		}
		return u, err
	},
}

var requests = entity[authz.Request]{
	in: layout.Requests, what: "request",
	key: func(r authz.Request) string { return r.ID },
	to: func(r authz.Request) (bson.D, error) {
		m := members{{Key: "requesterUserId", Value: r.RequesterUserID}}
		m.text("roleId", r.RoleID)
		m.text("pattern", r.Pattern)
		m.put("scope", r.Scope)
		m.expiry("proposedExpiresAt", r.ProposedExpiresAt)
		answers := r.Justification
		if answers == nil {
			answers = map[string]string{}
		}
		if err := m.json("justification", answers); err != nil {
			return nil, err
		}
		m.put("state", string(r.State))
		m.put("stageIndex", r.StageIndex)
		if err := m.json("stages", nonNil(r.Stages)); err != nil {
			return nil, err
		}
		err := m.json("decisions", nonNil(r.Decisions))
		m.put("createdAt", r.CreatedAt)
		if r.DecidedAt != nil {
			m.put("decidedAt", *r.DecidedAt)
		}
		return bson.D(m), err
	},
	from: func(row layout.Row) (authz.Request, error) {
		var d struct {
			RequesterUserID   string `bson:"requesterUserId"`
			RoleID            string `bson:"roleId"`
			Pattern           string `bson:"pattern"`
			Scope             string `bson:"scope"`
			ProposedExpiresAt *int64 `bson:"proposedExpiresAt"`
			Justification     string `bson:"justification"`
			State             string `bson:"state"`
			StageIndex        int64  `bson:"stageIndex"`
			Stages            string `bson:"stages"`
			Decisions         string `bson:"decisions"`
			CreatedAt         int64  `bson:"createdAt"`
			DecidedAt         *int64 `bson:"decidedAt"`
		}
		if err := row.Decode(&d); err != nil {
			return authz.Request{}, err
		}
		r := authz.Request{ID: row.Text(), RequesterUserID: d.RequesterUserID, RoleID: d.RoleID, Pattern: d.Pattern, Scope: d.Scope,
			ProposedExpiresAt: expiryOf(d.ProposedExpiresAt), State: authz.RequestState(d.State), StageIndex: d.StageIndex,
			CreatedAt: d.CreatedAt, DecidedAt: d.DecidedAt}
		if err := payload(d.Justification, &r.Justification); err != nil {
			return r, err
		}
		if err := payload(d.Stages, &r.Stages); err != nil {
			return r, err
		}
		return r, payload(d.Decisions, &r.Decisions)
	},
}

var audit = entity[authz.AuditEntry]{
	in: layout.Audit, what: "audit entry",
	key: func(e authz.AuditEntry) string { return e.ID },
	to: func(e authz.AuditEntry) (bson.D, error) {
		m := members{{Key: "id", Value: e.ID}, {Key: "at", Value: e.At}, {Key: "actor", Value: e.Actor},
			{Key: "action", Value: e.Action}, {Key: "target", Value: e.Target}}
		m.text("detail", string(e.Detail))
		m.text("prevHash", e.PrevHash)
		m.text("hash", e.Hash)
		m.put("subjects", nonNil(e.Subjects()))
		return bson.D(m), nil
	},
	from: func(row layout.Row) (authz.AuditEntry, error) {
		var d struct {
			At       int64  `bson:"at"`
			Actor    string `bson:"actor"`
			Action   string `bson:"action"`
			Target   string `bson:"target"`
			Detail   string `bson:"detail"`
			PrevHash string `bson:"prevHash"`
			Hash     string `bson:"hash"`
		}
		err := row.Decode(&d)
		return authz.AuditEntry{ID: row.Text(), At: d.At, Actor: d.Actor, Action: d.Action, Target: d.Target, Detail: document(d.Detail),
			PrevHash: d.PrevHash, Hash: d.Hash}, err
	},
}

// scopeParents is the recorded parents of a scope; empty is a root.
type scopeParents struct {
	scope   string
	parents []string
}

var scopes = entity[scopeParents]{
	in: layout.Scopes, what: "scope",
	key: func(s scopeParents) string { return s.scope },
	to: func(s scopeParents) (bson.D, error) {
		return bson.D{{Key: "parents", Value: nonNil(s.parents)}}, nil
	},
	from: func(row layout.Row) (scopeParents, error) {
		var d struct {
			Parents []string `bson:"parents"`
		}
		err := row.Decode(&d)
		return scopeParents{row.Text(), nonNil(d.Parents)}, err
	},
}

var keyMembers = [4]string{"key1", "key2", "key3", "key4"}

var records = entity[storage.Record]{
	in: layout.Records, what: "record",
	key: func(r storage.Record) string { return recordKey(r.Collection, r.ID) },
	to: func(r storage.Record) (bson.D, error) {
		m := members{{Key: "collection", Value: r.Collection}, {Key: "id", Value: r.ID}, {Key: "version", Value: r.Version}, {Key: "data", Value: string(r.Data)}}
		for i, value := range r.Keys {
			m.text(keyMembers[i], value)
		}
		m.put("updatedAt", r.UpdatedAt)
		return bson.D(m), nil
	},
	from: func(row layout.Row) (storage.Record, error) {
		var d struct {
			Collection string `bson:"collection"`
			ID         string `bson:"id"`
			Version    int64  `bson:"version"`
			Data       string `bson:"data"`
			Key1       string `bson:"key1"`
			Key2       string `bson:"key2"`
			Key3       string `bson:"key3"`
			Key4       string `bson:"key4"`
			UpdatedAt  int64  `bson:"updatedAt"`
		}
		err := row.Decode(&d)
		return storage.Record{Collection: d.Collection, ID: d.ID, Version: d.Version, Data: document(d.Data),
			Keys: [4]string{d.Key1, d.Key2, d.Key3, d.Key4}, UpdatedAt: d.UpdatedAt}, err
	},
}

// recordKey is <collection>/<id>; a slash in a collection's name is escaped, or
// two records could share a key.
func recordKey(collection, id string) string { return recordPrefix(collection) + "/" + id }

func recordPrefix(collection string) string {
	return strings.NewReplacer("%", "%25", "/", "%2F").Replace(collection)
}

// head is the document of a versioned singleton, the catalog or the imports.
type head struct {
	Version int64
	Text    string
}

const (
	headKey  = int64(1) // of the catalog and the imports
	epochKey = int64(1)
)

func headOf(in layout.Name, row layout.Row) (h head, err error) {
	var d struct {
		Version  int64  `bson:"version"`
		Document string `bson:"document"`
		Manifest string `bson:"manifest"`
	}
	err = row.Decode(&d)
	h = head{d.Version, d.Document}
	if in == layout.Imports {
		h.Text = d.Manifest
	}
	return h, err
}

func (h head) members(in layout.Name) bson.D {
	text := "document"
	if in == layout.Imports {
		text = "manifest"
	}
	return bson.D{{Key: "version", Value: h.Version}, {Key: text, Value: h.Text}}
}

// epochDoc is the head and the mark; what was written before identities were has
// none.
type epochDoc struct {
	Seq            int64  `bson:"seq"`
	Identity       string `bson:"identity"`
	PrunedThrough  int64  `bson:"prunedThrough"`
	PrunedIdentity string `bson:"prunedIdentity"`
}

func (e epochDoc) head() authz.Position { return authz.Position{Seq: e.Seq, Identity: e.Identity} }
func (e epochDoc) mark() authz.Position {
	return authz.Position{Seq: e.PrunedThrough, Identity: e.PrunedIdentity}
}

type eventDoc struct {
	Type     string `bson:"type"`
	Payload  string `bson:"payload"`
	Identity string `bson:"identity"`
}

// eventPayload is an event but its type.
type eventPayload struct {
	UserID  string `json:"userId,omitempty"`
	Subject string `json:"subject,omitempty"`
	RoleID  string `json:"roleId,omitempty"`
	Scope   string `json:"scope,omitempty"`
}

func eventMembers(e authz.Event, at int64, identity string) (bson.D, error) {
	m := members{{Key: "type", Value: string(e.Type)}}
	err := m.json("payload", eventPayload{e.UserID, e.Subject, e.RoleID, e.Scope})
	m.put("at", at)
	m.put("identity", identity)
	return bson.D(m), err
}

func eventOf(row layout.Row) (event authz.Event, identity string, err error) {
	var d eventDoc
	if err := row.Decode(&d); err != nil {
		return authz.Event{}, "", err
	}
	var p eventPayload
	err = payload(d.Payload, &p)
	return authz.Event{Type: authz.EventType(d.Type), UserID: p.UserID, Subject: p.Subject, RoleID: p.RoleID, Scope: p.Scope}, d.Identity, err
}

type members bson.D

func (m *members) put(name string, value any) { *m = append(*m, bson.E{Key: name, Value: value}) }

func (m *members) text(name, value string) {
	if value != "" {
		m.put(name, value)
	}
}

func (m *members) expiry(name string, e authz.Expiry) {
	if at, ok := e.At(); ok {
		m.put(name, at)
	}
}

func (m *members) json(name string, value any) error {
	b, err := authz.Marshal(value)
	m.put(name, string(b))
	return err
}

func expiryOf(at *int64) authz.Expiry {
	if at == nil {
		return authz.Expiry{}
	}
	return authz.ExpiresAt(*at)
}

// payload reads JSON text; none leaves v as it is.
func payload(text string, v any) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), v)
}

func document(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// live selects what is no stone.
var live = bson.E{Key: "gone", Value: bson.D{{Key: "$ne", Value: true}}}
