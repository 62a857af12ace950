package ldap

import "github.com/authzhost/authz/internal/spell"

// Schema is the name of a directory's usual attributes and object classes.
type Schema string

// The schemas.
const (
	// SchemaRFC2307bis has groups that name their members by distinguished name:
	// groupOfNames, or posixGroup as RFC 2307bis has it.
	SchemaRFC2307bis Schema = "rfc2307bis"

	// SchemaPosix is RFC 2307: posixGroup names its members by their uid.
	SchemaPosix Schema = "posix"

	// SchemaActiveDirectory is Active Directory's.
	SchemaActiveDirectory Schema = "active_directory"
)

var schemas = []string{string(SchemaRFC2307bis), string(SchemaPosix), string(SchemaActiveDirectory)}

// MemberKind says what the values of a group's member attribute are.
type MemberKind string

// The kinds of member.
const (
	MemberDN  MemberKind = "dn"  // distinguished names of people and groups
	MemberKey MemberKind = "key" // values of a person's MemberKeyAttribute
)

// PrimaryGroup says how a person names the one group that does not list them.
type PrimaryGroup string

// The kinds of primary group.
const (
	PrimaryNone PrimaryGroup = "none"
	PrimaryGID  PrimaryGroup = "gid_number" // both have the same gidNumber
	PrimarySID  PrimaryGroup = "sid"        // primaryGroupID in the domain of objectSid
)

const (
	defaultPageSize   = 500
	defaultMaxEntries = 200_000
)

// Defaults are the options of a schema: all but the addresses, who binds, and the
// bases.
func Defaults(s Schema) (Options, error) {
	o := Options{
		UserID: "entryUUID", UserManager: "manager",
		GroupID: "entryUUID", GroupName: "cn", GroupDescription: "description",
		Member: "member", MemberKind: MemberDN, MemberKeyAttribute: "uid", PrimaryGroup: PrimaryNone, NestedGroups: true,
		PageSize: defaultPageSize, MaxEntries: defaultMaxEntries, Timeout: defaultTimeout, CheckSchema: true,
	}
	switch s {
	case SchemaRFC2307bis:
		o.UserFilter = "(|(objectClass=inetOrgPerson)(objectClass=posixAccount))"
		o.GroupFilter = "(|(objectClass=groupOfNames)(objectClass=posixGroup))"
	case SchemaPosix:
		o.UserFilter = "(objectClass=posixAccount)"
		o.GroupFilter = "(objectClass=posixGroup)"
		o.Member, o.MemberKind, o.PrimaryGroup = "memberUid", MemberKey, PrimaryGID
		o.UserManager = "" // posixAccount has none
	case SchemaActiveDirectory:
		o.UserFilter = "(&(objectClass=user)(!(objectClass=computer)))"
		o.GroupFilter = "(objectClass=group)"
		o.UserID, o.GroupID = "objectGUID", "objectGUID"
		o.ActiveAttribute, o.InactiveBits = "userAccountControl", accountDisabled
		o.PrimaryGroup = PrimarySID
	default:
		return Options{}, wrong(settingSchema, "must be one of %s", spell.QuoteList(schemas))
	}
	return o, nil
}

// accountDisabled is the bit of userAccountControl that says so.
const accountDisabled = 0x2
