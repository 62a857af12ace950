package layout

// Kind is a layout of partitions.
type Kind string

// The layouts. One database holds one of them.
const (
	Collections Kind = "collections"
	Rows        Kind = "rows"
)

// Version is the version of the document layouts.
const Version = 1

// Name is a collection of a partition. Names hold no underscore, so that
// <partition>_<name> has one reading.
type Name string

// The collections.
const (
	Grants   Name = "grants"
	Revokes  Name = "revokes"
	Roles    Name = "roles"
	Groups   Name = "groups"
	Users    Name = "users"
	Requests Name = "requests"
	Catalog  Name = "catalog"
	Imports  Name = "imports"
	Epoch    Name = "epoch"
	Audit    Name = "audit"
	Events   Name = "events"
	Scopes   Name = "scopes"
	Records  Name = "records"
	Locks    Name = "locks"
	Commits  Name = "commits"
	Meta     Name = "meta"
	Journal  Name = "journal"
)

// Names lists every collection.
var Names = []Name{
	Grants, Revokes, Roles, Groups, Users, Requests, Catalog, Imports, Epoch, Audit, Events, Scopes, Records, Locks, Commits, Meta, Journal,
}

// index is a list of members; in the rows layout app comes before them. The key
// at its end lets a filtered list be paged in its order, and a member behind the key passes
// over documents without reading them. sparse is given up in the
// rows layout, where every document has the leading member.
type index struct {
	members []string
	sparse  bool
}

// stones finds what was deleted long ago.
var stones = index{members: []string{"gone", "at"}, sparse: true}

var indexes = map[Name][]index{
	Grants:   {on("subject", "_id"), on("scope", "_id"), on("roleId", "_id"), on("scope", "subject", "_id"), on("createdAt", "_id", "scope"), on("expiresAt", "_id"), stones},
	Revokes:  {on("userId", "_id"), on("scope", "_id"), stones},
	Roles:    {stones},
	Groups:   {on("parents"), stones},
	Users:    {on("groupIds", "_id"), on("orgIds", "_id"), on("managerUserId", "_id"), stones},
	Requests: {on("state", "createdAt", "_id"), on("requesterUserId", "createdAt", "_id"), on("createdAt", "_id"), stones},
	Audit:    {on("target", "at", "id"), on("at", "id"), on("actor", "at", "id"), on("subjects", "at", "id")},
	Events:   {on("at")},
	Scopes:   {on("parents", "_id"), stones},
	Records: {on("collection", "key1", "id"), on("collection", "key2", "id"), on("collection", "key3", "id"),
		on("collection", "key4", "id"), stones},
	Commits: {on("at")},
	Journal: {on("at")},
}

func on(members ...string) index { return index{members: members} }
