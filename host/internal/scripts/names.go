package scripts

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// bind gives the rows of a result the symbols that the script created.
func (r *replay) bind(got any, created []string) {
	var ids []string
	switch row := got.(type) {
	case authz.Grant:
		ids = []string{row.ID}
	case []authz.Grant:
		for _, g := range row {
			ids = append(ids, g.ID)
		}
	case authz.Request:
		ids = r.ofRequest(row)
	case authz.Revoke:
		ids = []string{row.ID}
	case authz.Role:
		ids = []string{row.ID}
	case authz.Group:
		ids = []string{row.ID}
	case called:
		r.bindReturned(created, row.Body)
		return
	default:
		ids = r.unnamed()
	}
	r.name(created, ids)
}

func (r *replay) name(created, ids []string) {
	if len(created) > 0 && len(created) != len(ids) {
		r.t.Fatalf("created %v, the result has %v", created, ids)
	}
	for i, symbol := range created {
		r.names[ids[i]], r.ids[symbol] = symbol, ids[i]
	}
}

// unnamed are the grants that an operation wrote and did not return, in the order
// of their insertion.
func (r *replay) unnamed() (ids []string) {
	for _, g := range rows(r.t, r.on.Store.ListGrants(r.t.Context(), storage.GrantFilter{}, storage.Page{})) {
		if r.names[g.ID] == "" {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

var generated = regexp.MustCompile(`raw\d{6}`)

// symbols names the generated ids in a text as the script does.
func (r *replay) symbols(text string) string { return symbolsIn(text, r.names) }

func symbolsIn(text string, symbols map[string]string) string {
	return generated.ReplaceAllStringFunc(text, func(id string) string {
		if symbol, ok := symbols[id]; ok {
			return symbol
		}
		return "<id>"
	})
}

// args puts the ids of this run in place of the symbols.
func (r *replay) args(in map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, raw := range in {
		out[name] = json.RawMessage(r.placed(raw))
	}
	return out
}

func (r *replay) placed(raw json.RawMessage) string {
	text := string(raw)
	for symbol, id := range r.ids {
		text = strings.ReplaceAll(text, `"`+symbol+`"`, `"`+id+`"`)
		text = strings.ReplaceAll(text, `:`+symbol+`"`, `:`+id+`"`)
	}
	return text
}

// ofRequest lists the rows that an operation on the request made and that have no
// symbol yet: the request itself, and the grant of its approval.
func (r *replay) ofRequest(row authz.Request) []string {
	var made []string
	if r.names[row.ID] == "" {
		made = append(made, row.ID)
	}
	for _, g := range rows(r.t, r.on.Store.ListGrants(r.t.Context(), storage.GrantFilter{}, storage.Page{})) {
		if g.Provenance.RequestID == row.ID && r.names[g.ID] == "" {
			made = append(made, g.ID)
		}
	}
	return made
}
