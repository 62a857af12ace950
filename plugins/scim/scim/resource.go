package scim

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

const (
	schemaUser       = "urn:ietf:params:scim:schemas:core:2.0:User"
	schemaGroup      = "urn:ietf:params:scim:schemas:core:2.0:Group"
	schemaEnterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
)

// user is what a reading keeps of a User.
type user struct {
	id, key    string // key is the user id that is told
	active     *bool
	manager    string // the id of a User, "" is none
	orgs       []string
	enterprise bool   // it has the extension
	in         string // the id of a group that it says it is in, "" when it says nothing
}

// group is what a reading keeps of a Group.
type group struct {
	id, key, name string
	members       []member
}

type member struct {
	Value string `json:"value"`
	Ref   string `json:"$ref"`
	Type  string `json:"type"`
}

// common are the attributes of every resource.
type common struct {
	Schemas    []string `json:"schemas"`
	ID         string   `json:"id"`
	ExternalID string   `json:"externalId"`
}

// check wants a resource of the schema with an id.
func (c common) check(schema, what string) error {
	if c.ID == "" {
		return authz.Validation("a %s without id", what)
	}
	if err := wantSchema(c.Schemas, schema, "a "+what); err != nil {
		return authz.Validation("%s %s: %s", what, spell.Quote(c.ID), err.Error())
	}
	return nil
}

// user decodes one resource of the list of Users.
func (o Options) user(dec *json.Decoder) (user, error) {
	var raw struct {
		common
		UserName   string `json:"userName"`
		Active     *bool  `json:"active"`
		Groups     []struct{ Value, Type string }
		Enterprise *struct {
			Manager      json.RawMessage `json:"manager"`
			Organization string          `json:"organization"`
			Division     string          `json:"division"`
			Department   string          `json:"department"`
			CostCenter   string          `json:"costCenter"`
		} `json:"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"`
	}
	if err := resource(dec.Decode(&raw), "User", raw.ID); err != nil {
		return user{}, err
	}
	if err := raw.check(schemaUser, "User"); err != nil {
		return user{}, err
	}
	if raw.UserName == "" {
		return user{}, authz.Validation("User %s: it has no userName, which SCIM requires", spell.Quote(raw.ID))
	}
	u := user{id: raw.ID, active: raw.Active, enterprise: raw.Enterprise != nil}
	var err error
	if u.key, err = key("User", raw.ID, o.UserID, map[string]string{"id": raw.ID, "userName": raw.UserName, "externalId": raw.ExternalID}); err != nil {
		return u, err
	}
	for _, g := range raw.Groups {
		if !strings.EqualFold(g.Type, "indirect") && g.Value != "" {
			u.in = g.Value
			break
		}
	}
	if raw.Enterprise == nil {
		return u, nil
	}
	if o.Manager {
		if u.manager, err = managerOf(raw.Enterprise.Manager); err != nil {
			return u, authz.Validation("User %s: %s", spell.Quote(raw.ID), err.Error())
		}
	}
	orgs := map[string]string{"organization": raw.Enterprise.Organization, "division": raw.Enterprise.Division,
		"department": raw.Enterprise.Department, "costCenter": raw.Enterprise.CostCenter}
	for _, attribute := range o.OrgAttributes {
		if orgs[attribute] == "" {
			continue
		}
		if err := checkID(orgs[attribute]); err != nil {
			return u, authz.Validation("User %s: %s %s", spell.Quote(raw.ID), attribute, err.Error())
		}
		u.orgs = append(u.orgs, orgs[attribute])
	}
	return u, nil
}

// group decodes one resource of the list of Groups.
func (o Options) group(dec *json.Decoder) (group, error) {
	var raw struct {
		common
		DisplayName string   `json:"displayName"`
		Members     []member `json:"members"`
	}
	if err := resource(dec.Decode(&raw), "Group", raw.ID); err != nil {
		return group{}, err
	}
	if err := raw.check(schemaGroup, "Group"); err != nil {
		return group{}, err
	}
	if raw.DisplayName == "" {
		return group{}, authz.Validation("Group %s: it has no displayName, which SCIM requires", spell.Quote(raw.ID))
	}
	g := group{id: raw.ID, name: raw.DisplayName, members: raw.Members}
	var err error
	g.key, err = key("Group", raw.ID, o.GroupID, map[string]string{"id": raw.ID, "displayName": raw.DisplayName, "externalId": raw.ExternalID})
	return g, err
}

// resource says of which resource an attribute has the wrong type.
func resource(err error, what, id string) error {
	var typed *json.UnmarshalTypeError
	if !errors.As(err, &typed) {
		return err
	}
	return authz.Validation("%s %s: %s is a JSON %s, which SCIM does not allow there", what, spell.Quote(id), spell.Quote(typed.Field), typed.Value)
}

// key is the id by which a resource is told.
func key(what, id, attribute string, values map[string]string) (string, error) {
	value := values[attribute]
	if value == "" {
		return "", authz.Validation("%s %s: it has no %s, which is to be its id", what, spell.Quote(id), attribute)
	}
	if err := checkID(value); err != nil {
		return "", authz.Validation("%s %s: %s %s", what, spell.Quote(id), attribute, err.Error())
	}
	return value, nil
}

func checkID(value string) error {
	switch {
	case len(value) > directory.MaxID:
		return authz.Validation("is longer than %d bytes", directory.MaxID)
	case strings.IndexByte(value, 0) >= 0:
		return authz.Validation("holds U+0000")
	}
	return nil
}

// managerOf reads {"value": id}; some services give the id alone.
func managerOf(raw json.RawMessage) (string, error) {
	var id string
	if len(raw) == 0 || json.Unmarshal(raw, &id) == nil {
		return id, nil
	}
	var full struct {
		Value string `json:"value"`
	}
	if err := json.Unmarshal(raw, &full); err != nil {
		return "", authz.Validation("its manager has no value that is text")
	}
	return full.Value, nil
}

// kind is "user", "group" or "" when the member does not say.
func (m member) kind() string {
	if m.Type != "" {
		return strings.ToLower(m.Type)
	}
	switch rest := strings.TrimSuffix(m.Ref, "/"); {
	case strings.Contains(rest, "/Users/"), strings.HasPrefix(rest, "Users/"):
		return "user"
	case strings.Contains(rest, "/Groups/"), strings.HasPrefix(rest, "Groups/"):
		return "group"
	}
	return ""
}
