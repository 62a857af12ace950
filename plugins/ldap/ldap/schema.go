package ldap

import (
	"context"
	"strings"

	"github.com/go-ldap/ldap/v3"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// checkSchema asks the server which attributes exist and refuses settings that name
// others. A server that does not let its schema be read is not asked further: what
// leads nowhere shows in the entries as well.
func (s *session) checkSchema(ctx context.Context) error {
	known, err := s.attributeTypes(ctx)
	if err != nil || known == nil {
		return err
	}
	for _, a := range s.o.attributes() {
		if known[strings.ToLower(a.name)] {
			continue
		}
		text := s.server.String() + ": the directory's schema has no attribute " + spell.Quote(a.name) + " (setting " + a.setting + ")"
		var names []string
		for name := range known {
			names = append(names, name)
		}
		if near := spell.Nearest(strings.ToLower(a.name), names); near != "" {
			text += "; did you mean " + spell.Quote(near) + "?"
		}
		return authz.Validation("%s", text)
	}
	return nil
}

// attributeTypes are the names of all attributes in lower case, nil when the server
// does not tell.
func (s *session) attributeTypes(ctx context.Context) (map[string]bool, error) {
	const attribute = "attributeTypes"
	ask := func(dn, wanted string) (*ldap.Entry, error) {
		entry, err := s.entry(dn, wanted)
		if err != nil && !answered(err) {
			return nil, s.fault(ctx, "a look at the schema", err)
		}
		return entry, nil // a result that is no success: it does not tell
	}
	root, err := ask("", "subschemaSubentry")
	if err != nil || root == nil {
		return nil, err
	}
	at := plain(root, "subschemaSubentry")
	if len(at) != 1 {
		return nil, nil
	}
	entry, err := ask(string(at[0]), attribute)
	if err != nil || entry == nil {
		return nil, err
	}
	var known map[string]bool
	for _, definition := range plain(entry, attribute) {
		for _, name := range definedNames(string(definition)) {
			if known == nil {
				known = map[string]bool{}
			}
			known[strings.ToLower(name)] = true
		}
	}
	return known, nil
}

// definedNames are the names in an attribute type's description (RFC 4512 4.1.2):
// ( 2.5.4.3 NAME ( 'cn' 'commonName' ) … ).
func definedNames(definition string) (names []string) {
	_, rest, ok := strings.Cut(definition, " NAME ")
	if !ok {
		return nil
	}
	rest = strings.TrimLeft(rest, " ")
	list, several := strings.CutPrefix(rest, "(")
	for {
		_, after, ok := strings.Cut(list, "'")
		if !ok {
			return names
		}
		name, following, ok := strings.Cut(after, "'")
		if !ok {
			return names
		}
		names = append(names, name)
		list = strings.TrimLeft(following, " ")
		if !several || strings.HasPrefix(list, ")") {
			return names
		}
	}
}

// named is an attribute and the setting that names it.
type named struct{ setting, name string }

// attributes are all that a reading asks for.
func (o Options) attributes() []named {
	list := []named{{settingUserID, o.UserID}, {settingActive, o.ActiveAttribute}, {settingManager, o.UserManager}}
	for _, org := range o.UserOrgs {
		list = append(list, named{settingOrgs, org})
	}
	if o.GroupBase != "" {
		list = append(list, named{settingGroupID, o.GroupID}, named{settingGroupName, o.GroupName}, named{settingDescription, o.GroupDescription}, named{settingMember, o.Member})
		if o.MemberKind == MemberKey {
			list = append(list, named{settingMemberKey, o.MemberKeyAttribute})
		}
		for _, name := range primaryAttributes[o.PrimaryGroup] {
			list = append(list, named{settingPrimaryGroup, name})
		}
	}
	given := list[:0]
	for _, a := range list {
		if a.name != "" {
			given = append(given, a)
		}
	}
	return given
}
