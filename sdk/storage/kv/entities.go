package kv

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// The entities: the key of a row, and the indexes and values it is found by.
var (
	grants = table[authz.Grant]{"grant", func(g *authz.Grant) string { return g.ID }, func(g *authz.Grant) []string {
		found := []string{"subject/" + g.Subject, "scope/" + g.Scope, "role/" + g.RoleID, "at/" + g.Scope + "\x00" + g.Subject,
			"made/" + backwards(place(g.CreatedAt, g.ID))}
		if g.Scope != authz.Global {
			found = append(found, "madeIn/"+backwards(place(g.CreatedAt, g.ID)))
		}
		if at, expires := g.ExpiresAt.At(); expires {
			found = append(found, "ends/"+ordered(at))
		}
		return found
	}}
	revokes = table[authz.Revoke]{"revoke", func(r *authz.Revoke) string { return r.ID },
		func(r *authz.Revoke) []string { return []string{"user/" + r.UserID} }}
	roles  = table[authz.Role]{"role", func(r *authz.Role) string { return r.ID }, nil}
	groups = table[authz.Group]{"group", func(g *authz.Group) string { return g.ID }, nil}
	users  = table[authz.User]{"user", func(u *authz.User) string { return u.UserID }, func(u *authz.User) (found []string) {
		for _, id := range u.GroupIDs {
			found = append(found, "group/"+id)
		}
		for _, id := range u.OrgIDs {
			found = append(found, "org/"+id)
		}
		if u.ManagerUserID != "" {
			found = append(found, "manager/"+u.ManagerUserID)
		}
		return found
	}}
	requests = table[authz.Request]{"request", func(r *authz.Request) string { return r.ID },
		func(r *authz.Request) []string {
			return []string{"at/" + ordered(r.CreatedAt), "requester/" + r.RequesterUserID}
		}}
	audit = table[authz.AuditEntry]{"audit", func(e *authz.AuditEntry) string { return e.ID },
		func(e *authz.AuditEntry) []string {
			at, back := ordered(e.At), backwards(place(e.At, e.ID))
			found := []string{"at/" + at, "back/" + back}
			for _, subject := range e.Subjects() {
				found = append(found, "about/"+subject+"\x00"+at, "about.back/"+subject+"\x00"+back)
			}
			return found
		}}
	commits = table[applied]{"commit", func(c *applied) string { return c.ID },
		func(c *applied) []string { return []string{"at/" + ordered(c.At)} }}
	events  = table[event]{"event", func(e *event) string { return ordered(e.Seq) }, nil}
	records = table[storage.Record]{"record", func(r *storage.Record) string { return recordKey(r.Collection, r.ID) },
		func(r *storage.Record) []string {
			found := []string{recordValue(r.Collection, 0, "")}
			for i, key := range r.Keys {
				if key != "" {
					found = append(found, recordValue(r.Collection, i+1, key))
				}
			}
			return found
		}}
	scopes = table[scopeParents]{"scope", func(s *scopeParents) string { return s.Scope }, func(s *scopeParents) (found []string) {
		for _, parent := range s.Parents {
			found = append(found, "parent/"+parent)
		}
		return found
	}}
	fences = table[storage.Fence]{"fence", func(f *storage.Fence) string { return f.Key }, nil}
	heads  = table[head]{"head", func(h *head) string { return h.Name }, nil}
)

type (
	event struct {
		Seq, At  int64
		Event    authz.Event
		Identity string `json:",omitempty"` // absent of what was written before identities were
	}
	scopeParents struct {
		Scope   string
		Parents []string
	}
	// applied is what recognition keeps of a commit; At is the driver's clock.
	applied struct {
		ID, Digest string
		At         int64
		Result     appliedResult
	}
	appliedResult struct {
		Results  []storage.ChangeResult
		UpTo     int64
		Identity string `json:",omitempty"`
	}
	// head is a row of which there is one: "catalog", "imports", "log" (the newest
	// event) and "pruned" (the mark), whose Text is the identity, and "life" (layout
	// and incarnation).
	head struct {
		Name     string
		Version  int64
		Document json.RawMessage `json:",omitempty"`
		Text     string          `json:",omitempty"`
	}
)

func appliedAs(id, digest string, at int64, r storage.CommitResult) applied {
	return applied{id, digest, at, appliedResult{r.Results, r.UpTo.Seq, r.UpTo.Identity}}
}

func (a *applied) result() storage.CommitResult {
	return storage.CommitResult{Results: a.Result.Results, UpTo: authz.Position{Seq: a.Result.UpTo, Identity: a.Result.Identity}}
}

// end is above every place in time.
const end = "\xff"

// ordered spells an integer so that bytes compare as integers do.
func ordered(n int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(n)^1<<63))
}

// recordKey begins with the collection, so spelled that no other begins alike.
func recordKey(collection, id string) string {
	return strconv.Itoa(len(collection)) + "/" + collection + id
}

// recordValue is what a record is found by: an index string, or for 0 its
// collection.
func recordValue(collection string, index int, key string) string {
	return "key" + strconv.Itoa(index) + "/" + recordKey(collection, key)
}

// place is where a row stands in time.
func place(at int64, id string) string { return ordered(at) + "\x00" + id }

// backwards spells a place so that later ones come first, with a mark of the end
// that no id holds: of two ids that begin alike the longer one is the later.
func backwards(place string) string {
	spelled := []byte(place + "\x00")
	for i := range spelled {
		spelled[i] ^= 0xff
	}
	return string(spelled)
}

// forwards is the place that an entry begins with backwards.
func forwards(entry string) string {
	id := len(place(0, ""))
	end := id + strings.IndexByte(entry[id:], 0xff)
	return backwards(entry[:end])[:end]
}
