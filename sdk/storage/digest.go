package storage

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"

	"github.com/authzhost/authz/internal/spell"
)

// Digest identifies the content of a commit: what a driver keeps to tell a resend
// from another commit under the same id.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Limits of a record, in bytes.
const (
	maxCollection = 64
	maxRecordID   = 512
	maxRecordKey  = 512
	maxRecord     = 1 << 20
)

// CheckCommit refuses a commit that is malformed or too large whatever the
// partition holds, and returns the digest of its canonical text. Lists that are
// nil and lists that are empty have the same text. It is the first thing that a
// driver does with a commit.
func CheckCommit(c Commit) (Digest, error) {
	if len(c.Changes) > MaxCommitChanges {
		return Digest{}, Errorf(CodeTooLarge, "%d changes in one commit, at most %d", len(c.Changes), MaxCommitChanges)
	}
	if c.ID == "" {
		return Digest{}, Errorf(CodeValidation, "a commit needs an id")
	}
	if err := CheckValue(c); err != nil {
		return Digest{}, err
	}
	text := newCanonical()
	text.add(struct {
		At     int64
		Fences []Fence
	}{c.At, append([]Fence{}, c.Fences...)})
	for _, r := range c.Requires {
		text.add(r)
	}
	for _, change := range c.Changes {
		if err := checkChange(change); err != nil {
			return Digest{}, err
		}
		text.add(plain(change))
	}
	for _, entry := range c.Audit {
		if entry.ID == "" {
			return Digest{}, errNoKey("an audit entry")
		}
		if entry.DetailBytes != 0 {
			return Digest{}, Errorf(CodeValidation, "audit entry %s was read without its detail", spell.Quote(entry.ID))
		}
		text.add(entry)
	}
	for _, event := range c.Events {
		text.add(event)
	}
	return text.sum()
}

// canonical hashes values as JSON under the names of their types.
type canonical struct {
	hash hash.Hash
	text bytes.Buffer // of the value at hand
	json *json.Encoder
	size int
	err  error
}

func newCanonical() *canonical {
	t := &canonical{hash: sha256.New()}
	t.json = json.NewEncoder(&t.text)
	t.json.SetEscapeHTML(false) // it would count some characters six times
	return t
}

func (t *canonical) add(v any) {
	if t.err != nil {
		return
	}
	t.text.Reset()
	if err := t.json.Encode(v); err != nil {
		t.err = Errorf(CodeValidation, "%T cannot be written as JSON", v)
		return
	}
	if t.size += t.text.Len(); t.size > MaxCommitBytes {
		t.err = Errorf(CodeTooLarge, "the commit is larger than %d bytes", MaxCommitBytes)
		return
	}
	fmt.Fprintf(t.hash, "%T ", v)
	t.hash.Write(t.text.Bytes())
}

func (t *canonical) sum() (d Digest, err error) {
	t.hash.Sum(d[:0])
	return d, t.err
}

// plain removes from a change what is not part of its content.
func plain(change Change) Change {
	switch ch := change.(type) {
	case PatchUser:
		ch.GroupIDs, ch.OrgIDs = emptyList(ch.GroupIDs), emptyList(ch.OrgIDs)
		return ch
	case PutScopeParents:
		ch.Parents = *emptyList(&ch.Parents)
		return ch
	case PutRecord:
		ch.Record.Version = 0
		return ch
	}
	return change
}

func emptyList(list *[]string) *[]string {
	if list != nil && *list == nil {
		return &[]string{}
	}
	return list
}

// checkChange refuses empty keys, which no list could be resumed after, groups that a
// list names twice, payloads that are missing, and records past their limits.
func checkChange(change Change) error {
	switch ch := change.(type) {
	case InsertGrant:
		return needKey("a grant", ch.Grant.ID)
	case InsertRevoke:
		return needKey("a revoke", ch.Revoke.ID)
	case InsertRequest:
		return needKey("a request", ch.Request.ID)
	case UpdateRequest:
		return needKey("a request", ch.Request.ID)
	case UpsertRole:
		return needKey("a role", ch.Role.ID)
	case UpsertGroup:
		return cmp.Or(needKey("a group", ch.Group.ID), needOnce("the parents of a group", ch.Group.Parents))
	case UpsertUser:
		return cmp.Or(needKey("a user", ch.User.UserID), needOnce("the groups of a user", ch.User.GroupIDs))
	case PatchUser:
		if ch.GroupIDs == nil {
			return needKey("a user", ch.UserID)
		}
		return cmp.Or(needKey("a user", ch.UserID), needOnce("the groups of a user", *ch.GroupIDs))
	case PutScopeParents:
		return needKey("a scope", ch.Scope)
	case PutCatalog:
		return needPayload("a catalog", ch.Document)
	case PutImports:
		return needPayload("an import manifest", ch.Manifest)
	case PutRecord:
		return checkRecord(ch.Record)
	case DeleteGrant, DeleteRevoke, DeleteRequest,
		DeleteRole, DeleteGroup, DeleteUser,
		DeleteScopeParents, DeleteRecord:
		return nil
	}
	return Errorf(CodeValidation, "%T is no change", change)
}

func checkRecord(r Record) error {
	for _, part := range []struct {
		name       string
		size, most int
	}{
		{"collection", len(r.Collection), maxCollection},
		{"id", len(r.ID), maxRecordID},
		{"data", len(r.Data), maxRecord},
		{"first index string", len(r.Keys[0]), maxRecordKey},
		{"second index string", len(r.Keys[1]), maxRecordKey},
		{"third index string", len(r.Keys[2]), maxRecordKey},
		{"fourth index string", len(r.Keys[3]), maxRecordKey},
	} {
		if part.size > part.most {
			return Errorf(CodeTooLarge, "the %s of a record has %d bytes, at most %d", part.name, part.size, part.most)
		}
	}
	if err := needKey("a collection", r.Collection); err != nil {
		return err
	}
	if err := needKey("a record", r.ID); err != nil {
		return err
	}
	return needPayload("a record", r.Data)
}

func needKey(what, key string) error {
	if key == "" {
		return errNoKey(what)
	}
	return nil
}

// needOnce refuses a repeat among edges: where each is a row, it could not be kept.
func needOnce(what string, ends []string) error {
	if len(ends) < 2 {
		return nil
	}
	seen := make(map[string]bool, len(ends))
	for _, end := range ends {
		if seen[end] {
			return Errorf(CodeValidation, "%s name %s twice", what, spell.Quote(end))
		}
		seen[end] = true
	}
	return nil
}

func errNoKey(what string) error {
	return Errorf(CodeValidation, "%s needs an id that is not empty", what)
}

func needPayload(what string, raw json.RawMessage) error {
	if len(raw) == 0 {
		return Errorf(CodeValidation, "%s needs a document", what)
	}
	return nil
}
